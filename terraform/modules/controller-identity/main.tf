# Who the operator is, and what it may do: take from its subscription, write log entries, make and watch node groups, and
# give their VMs the accounts that are meant for them.

locals {
  node_projects = length(var.node_projects) > 0 ? var.node_projects : toset([var.project])
  permissions   = jsondecode(file("${path.module}/permissions.json"))
}

resource "google_service_account" "operator" {
  project      = var.project
  account_id   = var.account_id
  display_name = "TPU node group operator"
}

# One by one, no wildcard: each of permissions.json, which says what calls ask for it.
resource "google_project_iam_custom_role" "operator" {
  for_each = local.node_projects

  project     = each.key
  role_id     = var.role_id
  title       = "TPU node group operator"
  description = "The calls of Compute Engine that the operator makes, and no other."
  permissions = keys(local.permissions)
}

resource "google_project_iam_member" "operator" {
  for_each = local.node_projects

  project = each.key
  role    = google_project_iam_custom_role.operator[each.key].name
  member  = "serviceAccount:${google_service_account.operator.email}"
}

resource "google_pubsub_subscription_iam_member" "subscriber" {
  project      = split("/", var.subscription)[1]
  subscription = split("/", var.subscription)[3]
  role         = "roles/pubsub.subscriber"
  member       = "serviceAccount:${google_service_account.operator.email}"
}

resource "google_project_iam_member" "log_writer" {
  project = var.project
  role    = "roles/logging.logWriter"
  member  = "serviceAccount:${google_service_account.operator.email}"
}

# On these accounts, not on the project: there it would let the operator be everybody.
resource "google_service_account_iam_member" "act_as" {
  for_each = var.node_service_accounts

  service_account_id = each.value
  role               = "roles/iam.serviceAccountUser"
  member             = "serviceAccount:${google_service_account.operator.email}"
}
