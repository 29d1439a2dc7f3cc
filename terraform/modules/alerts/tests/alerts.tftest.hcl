# What is watched, from when on it is told, to whom, and which page says what to do.

mock_provider "google" {}

variables {
  project                  = "my-project"
  subscriptions            = { blue = "projects/my-project/subscriptions/e-blue", green = "projects/my-project/subscriptions/e-green" }
  dead_letter_subscription = "e-dead-letter"
  sink                     = "e"
  notification_channels    = ["projects/my-project/notificationChannels/1"]
  runbooks_url             = "https://example.com/runbooks"
  prometheus               = true
}

run "each_cluster_that_acknowledges_nothing_is_deaf" {
  assert {
    condition     = { for cluster, policy in google_monitoring_alert_policy.deaf : cluster => strcontains(policy.conditions[0].condition_threshold[0].filter, "subscription_id = \"e-${cluster}\" AND metric.type = \"pubsub.googleapis.com/subscription/ack_message_count\"") } == { blue = true, green = true }
    error_message = "Each cluster's acknowledgements must be watched."
  }

  assert {
    condition = alltrue([for policy in google_monitoring_alert_policy.deaf : [
      policy.conditions[0].condition_threshold[0].comparison, policy.conditions[0].condition_threshold[0].threshold_value,
      policy.conditions[0].condition_threshold[0].evaluation_missing_data,
      policy.conditions[0].condition_threshold[0].aggregations[0].alignment_period, policy.conditions[0].condition_threshold[0].aggregations[0].per_series_aligner,
    ] == ["COMPARISON_LT", 1, "EVALUATION_MISSING_DATA_ACTIVE", "900s", "ALIGN_DELTA"]])
    error_message = "No acknowledgement in 15 minutes, or no data, must be told."
  }

  assert {
    condition     = alltrue([for cluster, policy in google_monitoring_alert_policy.deaf : policy.conditions[1].condition_absent[0].duration == "900s" && strcontains(policy.conditions[1].condition_absent[0].filter, "subscription_id = \"e-${cluster}\" AND metric.type = \"pubsub.googleapis.com/subscription/ack_message_count\"")])
    error_message = "A cluster whose series is not there for 15 minutes must be told."
  }
}

run "dead_letters_old_messages_and_sink_errors_are_told" {
  assert {
    condition     = strcontains(google_monitoring_alert_policy.dead_letters.conditions[0].condition_threshold[0].filter, "subscription_id = \"e-dead-letter\" AND metric.type = \"pubsub.googleapis.com/subscription/num_undelivered_messages\"") && google_monitoring_alert_policy.dead_letters.conditions[0].condition_threshold[0].comparison == "COMPARISON_GT" && google_monitoring_alert_policy.dead_letters.conditions[0].condition_threshold[0].threshold_value == 0
    error_message = "The first dead letter must be told."
  }

  assert {
    condition     = alltrue([for cluster, policy in google_monitoring_alert_policy.oldest_message : strcontains(policy.conditions[0].condition_threshold[0].filter, "subscription_id = \"e-${cluster}\" AND metric.type = \"pubsub.googleapis.com/subscription/oldest_unacked_message_age\"") && policy.conditions[0].condition_threshold[0].comparison == "COMPARISON_GT" && policy.conditions[0].condition_threshold[0].threshold_value == 600]) && keys(google_monitoring_alert_policy.oldest_message) == ["blue", "green"]
    error_message = "A message of a cluster that waits for 10 minutes must be told."
  }

  assert {
    condition     = strcontains(google_monitoring_alert_policy.sink_errors.conditions[0].condition_threshold[0].filter, "resource.type = \"logging_sink\" AND resource.labels.name = \"e\" AND metric.type = \"logging.googleapis.com/exports/error_count\"") && google_monitoring_alert_policy.sink_errors.conditions[0].condition_threshold[0].comparison == "COMPARISON_GT" && google_monitoring_alert_policy.sink_errors.conditions[0].condition_threshold[0].threshold_value == 0
    error_message = "The first error of the sink must be told."
  }
}

run "what_the_operator_says_of_itself_is_told" {
  assert {
    condition     = google_monitoring_alert_policy.says_deaf[0].conditions[0].condition_prometheus_query_language[0].query == "tpu_events_flowing == 0 and on (instance) tpu_leader == 1"
    error_message = "A leader that says that it is deaf must be told."
  }

  assert {
    condition     = google_monitoring_alert_policy.not_ready[0].conditions[0].condition_prometheus_query_language[0].query == "max(tpu_groups_not_ready) > 0" && google_monitoring_alert_policy.not_ready[0].conditions[0].condition_prometheus_query_language[0].duration == "1800s"
    error_message = "A slice that is not Ready for 30 minutes must be told."
  }
}

run "every_alert_tells_the_channels_and_links_its_runbook" {
  assert {
    condition = alltrue([for policy in concat(
      values(google_monitoring_alert_policy.deaf), values(google_monitoring_alert_policy.oldest_message), google_monitoring_alert_policy.says_deaf[*], google_monitoring_alert_policy.not_ready[*],
      [google_monitoring_alert_policy.dead_letters, google_monitoring_alert_policy.sink_errors],
    ) : policy.notification_channels == tolist(["projects/my-project/notificationChannels/1"]) && policy.project == "my-project" && policy.enabled != false])
    error_message = "Every alert must be on and tell the channels."
  }

  assert {
    condition = {
      deaf      = [for policy in concat(values(google_monitoring_alert_policy.deaf), google_monitoring_alert_policy.says_deaf[*]) : regex("/([^/]*)[.]md$", policy.documentation[0].content)[0]]
      oldest    = [for policy in google_monitoring_alert_policy.oldest_message : regex("/([^/]*)[.]md$", policy.documentation[0].content)[0]]
      dead      = regex("https://example.com/runbooks/([^/]*)[.]md$", google_monitoring_alert_policy.dead_letters.documentation[0].content)[0]
      sink      = regex("https://example.com/runbooks/([^/]*)[.]md$", google_monitoring_alert_policy.sink_errors.documentation[0].content)[0]
      not_ready = regex("https://example.com/runbooks/([^/]*)[.]md$", google_monitoring_alert_policy.not_ready[0].documentation[0].content)[0]
      } == {
      deaf      = ["deaf", "deaf", "deaf"]
      oldest    = ["oldest-message", "oldest-message"]
      dead      = "dead-letters"
      sink      = "sink-errors"
      not_ready = "not-ready"
    }
    error_message = "Every alert must link its own runbook."
  }

  assert {
    condition     = google_project_service.monitoring[0].project == "my-project" && google_project_service.monitoring[0].service == "monitoring.googleapis.com" && google_project_service.monitoring[0].disable_on_destroy == false
    error_message = "The Monitoring API must be enabled, and never disabled again."
  }

  assert {
    condition     = length(output.policies) == 8
    error_message = "All eight alerts must be given out."
  }
}

run "without_prometheus_the_operators_own_words_are_not_watched" {
  variables {
    prometheus   = false
    runbooks_url = ""
  }

  assert {
    condition     = length(google_monitoring_alert_policy.says_deaf) + length(google_monitoring_alert_policy.not_ready) == 0
    error_message = "Alerts on metrics that do not come must not be made."
  }

  assert {
    condition     = endswith(google_monitoring_alert_policy.dead_letters.documentation[0].content, "\n\nRunbook: docs/runbooks/dead-letters.md")
    error_message = "Without a URL the runbook must be named."
  }
}
