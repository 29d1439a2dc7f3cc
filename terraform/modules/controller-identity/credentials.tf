# How the operator comes to be that account. With neither of these: it runs on a VM whose attached account it is.

resource "google_project_service" "federation" {
  for_each = toset(var.federation == null ? [] : ["iamcredentials", "sts"])

  project            = var.project
  service            = "${each.key}.googleapis.com"
  disable_on_destroy = false
}

resource "google_iam_workload_identity_pool" "cluster" {
  count = var.federation == null ? 0 : 1

  project                   = var.project
  workload_identity_pool_id = var.federation.pool_id
  display_name              = "TPU node group operator"
}

resource "google_iam_workload_identity_pool_provider" "cluster" {
  count = var.federation == null ? 0 : 1

  project                            = var.project
  workload_identity_pool_id          = google_iam_workload_identity_pool.cluster[0].workload_identity_pool_id
  workload_identity_pool_provider_id = "cluster"
  attribute_mapping                  = { "google.subject" = "assertion.sub" }
  # Of all accounts of the cluster, one gets in at all.
  attribute_condition = "assertion.sub == \"system:serviceaccount:${var.federation.namespace}:${var.federation.service_account}\""

  oidc {
    issuer_uri = var.federation.issuer
    jwks_json  = var.federation.jwks_json
  }
}

resource "google_service_account_iam_member" "federated" {
  count = var.federation == null ? 0 : 1

  service_account_id = google_service_account.operator.name
  role               = "roles/iam.workloadIdentityUser"
  member             = "principal://iam.googleapis.com/${google_iam_workload_identity_pool.cluster[0].name}/subject/system:serviceaccount:${var.federation.namespace}:${var.federation.service_account}"

  depends_on = [google_project_service.federation]
}

resource "google_service_account_key" "operator" {
  count = var.create_key ? 1 : 0

  service_account_id = google_service_account.operator.name
}
