output "email" {
  description = "The account's email: attach it to the operator's VM, where neither federation nor a key is used."
  value       = google_service_account.operator.email
}

output "credentials_config" {
  description = "Credential configuration for federation (GOOGLE_APPLICATION_CREDENTIALS): no secret, it names where the Pod's token is. Null without federation."
  value = var.federation == null ? null : jsonencode({
    type                              = "external_account"
    audience                          = "//iam.googleapis.com/${google_iam_workload_identity_pool_provider.cluster[0].name}"
    subject_token_type                = "urn:ietf:params:oauth:token-type:jwt"
    token_url                         = "https://sts.googleapis.com/v1/token"
    service_account_impersonation_url = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/${google_service_account.operator.email}:generateAccessToken"
    credential_source                 = { file = "/var/run/secrets/google-cloud/token" }
  })
}

output "audience" {
  description = "Audience of the Pod's projected token for federation; null without."
  value       = var.federation == null ? null : "https://iam.googleapis.com/${google_iam_workload_identity_pool_provider.cluster[0].name}"
}

output "key" {
  description = "The account's key file, base64; null unless `create_key`."
  value       = one(google_service_account_key.operator[*].private_key)
  sensitive   = true
}
