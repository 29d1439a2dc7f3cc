# What nobody would notice by itself. Each alert names its runbook.

locals {
  subscription_ids = { for cluster, path in var.subscriptions : cluster => split("/", path)[3] }
  said = {
    deaf           = "The operator acknowledges no messages, although its canary comes every five minutes: events do not reach it, and it finds changes by slow resyncs only."
    dead-letters   = "Messages that the operator cannot read were moved to the dead letters."
    oldest-message = "Messages wait: the operator is down, or behind."
    sink-errors    = "The log sink cannot publish: entries are being lost, and come to no operator."
    not-ready      = "A TPU slice is not Ready."
  }
  runbooks = { for page, text in local.said : page => "${text}\n\nRunbook: ${var.runbooks_url == "" ? "docs/runbooks" : var.runbooks_url}/${page}.md" }
}

resource "google_project_service" "monitoring" {
  count = var.enable_apis ? 1 : 0

  project            = var.project
  service            = "monitoring.googleapis.com"
  disable_on_destroy = false
}

resource "google_monitoring_alert_policy" "deaf" {
  for_each = local.subscription_ids

  project               = var.project
  display_name          = "TPU node group operator deaf: ${each.key}"
  combiner              = "OR"
  severity              = "CRITICAL"
  notification_channels = var.notification_channels

  conditions {
    display_name = "nothing acknowledged for ${var.deaf_minutes} min"

    condition_threshold {
      filter          = "resource.type = \"pubsub_subscription\" AND resource.labels.subscription_id = \"${each.value}\" AND metric.type = \"pubsub.googleapis.com/subscription/ack_message_count\""
      comparison      = "COMPARISON_LT"
      threshold_value = 1
      duration        = "0s"
      # Where nothing is acknowledged there may be no points at all.
      evaluation_missing_data = "EVALUATION_MISSING_DATA_ACTIVE"

      aggregations {
        alignment_period     = "${var.deaf_minutes * 60}s"
        per_series_aligner   = "ALIGN_DELTA"
        cross_series_reducer = "REDUCE_SUM"
        group_by_fields      = ["resource.label.subscription_id"]
      }
    }
  }

  # A condition on a threshold sees no series that is not there at all.
  conditions {
    display_name = "no data for ${var.deaf_minutes} min"

    condition_absent {
      filter   = "resource.type = \"pubsub_subscription\" AND resource.labels.subscription_id = \"${each.value}\" AND metric.type = \"pubsub.googleapis.com/subscription/ack_message_count\""
      duration = "${var.deaf_minutes * 60}s"

      aggregations {
        alignment_period     = "60s"
        per_series_aligner   = "ALIGN_DELTA"
        cross_series_reducer = "REDUCE_SUM"
        group_by_fields      = ["resource.label.subscription_id"]
      }
    }
  }

  documentation {
    subject   = "TPU node group operator deaf: ${each.key}"
    content   = local.runbooks["deaf"]
    mime_type = "text/markdown"
  }

  depends_on = [google_project_service.monitoring]
}

resource "google_monitoring_alert_policy" "dead_letters" {
  project               = var.project
  display_name          = "TPU node group dead letters"
  combiner              = "OR"
  severity              = "WARNING"
  notification_channels = var.notification_channels

  conditions {
    display_name = "dead letters present"

    condition_threshold {
      filter          = "resource.type = \"pubsub_subscription\" AND resource.labels.subscription_id = \"${var.dead_letter_subscription}\" AND metric.type = \"pubsub.googleapis.com/subscription/num_undelivered_messages\""
      comparison      = "COMPARISON_GT"
      threshold_value = 0
      duration        = "0s"

      aggregations {
        alignment_period   = "60s"
        per_series_aligner = "ALIGN_MAX"
      }
    }
  }

  documentation {
    subject   = "TPU node group dead letters"
    content   = local.runbooks["dead-letters"]
    mime_type = "text/markdown"
  }

  depends_on = [google_project_service.monitoring]
}

resource "google_monitoring_alert_policy" "oldest_message" {
  for_each = local.subscription_ids

  project               = var.project
  display_name          = "TPU node group messages wait: ${each.key}"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = var.notification_channels

  conditions {
    display_name = "oldest message waits for ${var.oldest_message_minutes} min"

    condition_threshold {
      filter          = "resource.type = \"pubsub_subscription\" AND resource.labels.subscription_id = \"${each.value}\" AND metric.type = \"pubsub.googleapis.com/subscription/oldest_unacked_message_age\""
      comparison      = "COMPARISON_GT"
      threshold_value = var.oldest_message_minutes * 60
      duration        = "0s"

      aggregations {
        alignment_period   = "60s"
        per_series_aligner = "ALIGN_MAX"
      }
    }
  }

  documentation {
    subject   = "TPU node group messages wait: ${each.key}"
    content   = local.runbooks["oldest-message"]
    mime_type = "text/markdown"
  }

  depends_on = [google_project_service.monitoring]
}

resource "google_monitoring_alert_policy" "sink_errors" {
  project               = var.project
  display_name          = "TPU node group log sink fails"
  combiner              = "OR"
  severity              = "CRITICAL"
  notification_channels = var.notification_channels

  conditions {
    display_name = "the sink cannot publish"

    condition_threshold {
      filter          = "resource.type = \"logging_sink\" AND resource.labels.name = \"${var.sink}\" AND metric.type = \"logging.googleapis.com/exports/error_count\""
      comparison      = "COMPARISON_GT"
      threshold_value = 0
      duration        = "0s"

      aggregations {
        alignment_period   = "300s"
        per_series_aligner = "ALIGN_DELTA"
      }
    }
  }

  documentation {
    subject   = "TPU node group log sink fails"
    content   = local.runbooks["sink-errors"]
    mime_type = "text/markdown"
  }

  depends_on = [google_project_service.monitoring]
}

resource "google_monitoring_alert_policy" "says_deaf" {
  count = var.prometheus ? 1 : 0

  project               = var.project
  display_name          = "TPU node group operator says that it is deaf"
  combiner              = "OR"
  severity              = "CRITICAL"
  notification_channels = var.notification_channels

  conditions {
    display_name = "EventsFlowing is False"

    condition_prometheus_query_language {
      query               = "tpu_events_flowing == 0 and on (instance) tpu_leader == 1"
      duration            = "120s"
      evaluation_interval = "60s"
    }
  }

  documentation {
    subject   = "TPU node group operator says that it is deaf"
    content   = local.runbooks["deaf"]
    mime_type = "text/markdown"
  }

  depends_on = [google_project_service.monitoring]
}

resource "google_monitoring_alert_policy" "not_ready" {
  count = var.prometheus ? 1 : 0

  project               = var.project
  display_name          = "TPU slice not Ready"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = var.notification_channels

  conditions {
    display_name = "a slice is not Ready for ${var.not_ready_minutes} min"

    condition_prometheus_query_language {
      query               = "max(tpu_groups_not_ready) > 0"
      duration            = "${var.not_ready_minutes * 60}s"
      evaluation_interval = "60s"
    }
  }

  documentation {
    subject   = "TPU slice not Ready"
    content   = local.runbooks["not-ready"]
    mime_type = "text/markdown"
  }

  depends_on = [google_project_service.monitoring]
}
