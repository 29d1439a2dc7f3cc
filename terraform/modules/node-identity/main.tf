# The account of the VMs. It may write log entries, by which a VM says that it has booted, and nothing else.

resource "google_service_account" "node" {
  project      = var.project
  account_id   = var.account_id
  display_name = "VMs of TPU node groups"
}

resource "google_project_iam_member" "log_writer" {
  for_each = length(var.node_projects) > 0 ? var.node_projects : toset([var.project])

  project = each.key
  role    = "roles/logging.logWriter"
  member  = "serviceAccount:${google_service_account.node.email}"
}
