# The way of an entry: Cloud Logging -> sink -> topic -> one subscription for each cluster; and the roles without which it
# ends somewhere in silence.

locals {
  apis = ["cloudresourcemanager", "compute", "iam", "logging", "pubsub"]

  zones   = sort(var.zones)
  regions = sort(toset([for zone in var.zones : regex("^(.*)-[a-z]$", zone)[0]]))
  filter = templatefile("${path.module}/filter.tftpl", {
    zones   = length(local.zones) > 0 ? join("|", local.zones) : "[^/]+"
    regions = length(local.regions) > 0 ? join("|", local.regions) : "[^/]+"
    names   = var.name_pattern != "" ? var.name_pattern : "."
  })

  # Pub/Sub acts as this account where it encrypts, and where it moves dead letters.
  pubsub_agent = "serviceAccount:service-${data.google_project.pipeline.number}@gcp-sa-pubsub.iam.gserviceaccount.com"
}

data "google_project" "pipeline" {
  project_id = var.project
}

resource "google_project_service" "needed" {
  for_each = toset(var.enable_apis ? local.apis : [])

  project            = var.project
  service            = "${each.key}.googleapis.com"
  disable_on_destroy = false
}

resource "google_kms_crypto_key_iam_member" "pubsub" {
  count = var.kms_key_name == null ? 0 : 1

  crypto_key_id = var.kms_key_name
  role          = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
  member        = local.pubsub_agent
}

resource "google_pubsub_topic" "events" {
  project      = var.project
  name         = var.name
  labels       = var.labels
  kms_key_name = var.kms_key_name

  dynamic "message_storage_policy" {
    for_each = length(var.storage_regions) > 0 ? [var.storage_regions] : []

    content {
      allowed_persistence_regions = message_storage_policy.value
    }
  }

  depends_on = [google_project_service.needed, google_kms_crypto_key_iam_member.pubsub]
}
