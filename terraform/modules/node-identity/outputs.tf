output "email" {
  description = "The account's email: the operator's setting `node_service_account`."
  value       = google_service_account.node.email
}

output "name" {
  description = "The account, as projects/P/serviceAccounts/EMAIL."
  value       = google_service_account.node.name
}
