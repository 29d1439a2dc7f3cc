# One subscription for each cluster: a message goes to one taker of a subscription only.

resource "google_pubsub_subscription" "cluster" {
  for_each = var.clusters

  project                    = var.project
  name                       = "${var.name}-${each.key}"
  topic                      = google_pubsub_topic.events.id
  labels                     = merge(var.labels, { tpu-node-group-cluster = each.key })
  ack_deadline_seconds       = var.ack_deadline_seconds
  message_retention_duration = "${var.message_retention_seconds}s"

  # Never: by default a subscription goes after 31 days without a taker.
  expiration_policy {
    ttl = ""
  }

  retry_policy {
    minimum_backoff = "${var.retry_seconds.minimum}s"
    maximum_backoff = "${var.retry_seconds.maximum}s"
  }

  dead_letter_policy {
    dead_letter_topic     = google_pubsub_topic.dead_letters.id
    max_delivery_attempts = var.max_delivery_attempts
  }
}

# For doctor's probe: it never takes what an operator waits for.
resource "google_pubsub_subscription" "probe" {
  count = var.probe ? 1 : 0

  project                    = var.project
  name                       = "${var.name}-probe"
  topic                      = google_pubsub_topic.events.id
  labels                     = var.labels
  message_retention_duration = "600s"

  expiration_policy {
    ttl = ""
  }
}

resource "google_pubsub_subscription_iam_member" "probe" {
  for_each = var.probe_members

  project      = var.project
  subscription = google_pubsub_subscription.probe[0].name
  role         = "roles/pubsub.subscriber"
  member       = each.key

  lifecycle {
    replace_triggered_by = [google_pubsub_subscription.probe[0].id]
  }
}
