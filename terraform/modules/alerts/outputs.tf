output "policies" {
  description = "Names of the alert policies, as projects/P/alertPolicies/N."
  value = concat(
    values(google_monitoring_alert_policy.deaf)[*].name,
    [google_monitoring_alert_policy.dead_letters.name],
    values(google_monitoring_alert_policy.oldest_message)[*].name,
    [google_monitoring_alert_policy.sink_errors.name],
    google_monitoring_alert_policy.says_deaf[*].name,
    google_monitoring_alert_policy.not_ready[*].name,
  )
}
