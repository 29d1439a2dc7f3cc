output "subscriptions" {
  description = "Cluster -> its subscription, as projects/P/subscriptions/S."
  value       = { for cluster, made in google_pubsub_subscription.cluster : cluster => "projects/${var.project}/subscriptions/${made.name}" }
}

output "settings" {
  description = "Cluster -> the operator's settings that follow from the pipeline, by their names."
  value = {
    for cluster, made in google_pubsub_subscription.cluster : cluster => {
      cluster_name = cluster
      project      = var.project
      subscription = "projects/${var.project}/subscriptions/${made.name}"
    }
  }
}

output "topic" {
  description = "The topic, as projects/P/topics/T."
  value       = google_pubsub_topic.events.id
}

output "dead_letter_subscription" {
  description = "Name of the subscription that keeps the dead letters."
  value       = google_pubsub_subscription.dead_letters.name
}

output "probe_subscription" {
  description = "The probe's subscription, as projects/P/subscriptions/S; null without one."
  value       = var.probe ? "projects/${var.project}/subscriptions/${google_pubsub_subscription.probe[0].name}" : null
}

output "sink" {
  description = "Name of the sink."
  value       = var.name
}

output "filter" {
  description = "The sink's filter."
  value       = local.filter
}

output "writer_identity" {
  description = "The account that the sink publishes as."
  value       = google_pubsub_topic_iam_member.writer.member
}
