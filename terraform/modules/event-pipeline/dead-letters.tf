# Where unreadable messages go, with a subscription of its own that keeps them, and the two roles without which Pub/Sub
# cannot move them and delivers them for ever.

resource "google_pubsub_topic" "dead_letters" {
  project      = var.project
  name         = "${var.name}-dead-letter"
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

resource "google_pubsub_subscription" "dead_letters" {
  project                    = var.project
  name                       = "${var.name}-dead-letter"
  topic                      = google_pubsub_topic.dead_letters.id
  labels                     = var.labels
  message_retention_duration = "604800s"

  expiration_policy {
    ttl = ""
  }
}

resource "google_pubsub_topic_iam_member" "dead_letter_publisher" {
  project = var.project
  topic   = google_pubsub_topic.dead_letters.name
  role    = "roles/pubsub.publisher"
  member  = local.pubsub_agent

  lifecycle {
    replace_triggered_by = [google_pubsub_topic.dead_letters.id]
  }
}

# To move a message it must also be acknowledged where it came from.
resource "google_pubsub_subscription_iam_member" "dead_letter_subscriber" {
  for_each = var.clusters

  project      = var.project
  subscription = google_pubsub_subscription.cluster[each.key].name
  role         = "roles/pubsub.subscriber"
  member       = local.pubsub_agent

  lifecycle {
    # A subscription that is made anew has lost its roles.
    replace_triggered_by = [google_pubsub_subscription.cluster[each.key].id]
  }
}
