output "operator_settings" {
  description = "What `tpu-node-group run --from-terraform` takes: cluster -> settings of its operator."
  value = {
    for cluster, settings in module.event_pipeline.settings :
    cluster => merge(settings, { node_service_account = module.node_identity[cluster].email })
  }
}

output "operator_accounts" {
  description = "Cluster -> its operator's service account."
  value       = { for cluster, identity in module.controller_identity : cluster => identity.email }
}

output "credentials_configs" {
  description = "Cluster -> credential configuration for federation."
  value       = { for cluster, identity in module.controller_identity : cluster => identity.credentials_config }
}
