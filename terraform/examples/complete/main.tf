# Everything that one cluster needs in Google Cloud: events, who the operator is, who its VMs are, and alerts.

provider "google" {
  project = var.project
}

module "event_pipeline" {
  source = "../../modules/event-pipeline"

  project         = var.project
  storage_regions = var.storage_regions
  probe           = true
}

module "node_identity" {
  source = "../../modules/node-identity"

  project = var.project
}

module "controller_identity" {
  source = "../../modules/controller-identity"

  project               = var.project
  subscription          = module.event_pipeline.subscriptions["default"]
  node_service_accounts = { nodes = module.node_identity.name }
  federation            = var.issuer == null ? null : { issuer = var.issuer }
}

module "alerts" {
  source = "../../modules/alerts"

  project                  = var.project
  subscriptions            = module.event_pipeline.subscriptions
  dead_letter_subscription = module.event_pipeline.dead_letter_subscription
  sink                     = module.event_pipeline.sink
  notification_channels    = var.notification_channels
}
