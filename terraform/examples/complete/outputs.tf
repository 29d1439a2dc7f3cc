output "operator_settings" {
  description = "What `tpu-node-group run --from-terraform` takes: cluster -> settings of its operator."
  value = {
    for cluster, settings in module.event_pipeline.settings :
    cluster => merge(settings, { node_service_account = module.node_identity.email })
  }
}

output "probe_subscription" {
  description = "What `tpu-node-group doctor --probe` takes."
  value       = module.event_pipeline.probe_subscription
}

output "operator_account" {
  description = "The operator's service account."
  value       = module.controller_identity.email
}

output "credentials_config" {
  description = "Credential configuration for federation; null without."
  value       = module.controller_identity.credentials_config
}
