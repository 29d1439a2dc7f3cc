# Several clusters on one project: one sink and one topic, and for each cluster a subscription and an identity of its own,
# so that no operator can take another's events.

provider "google" {
  project = var.project
}

module "event_pipeline" {
  source = "../../modules/event-pipeline"

  project  = var.project
  clusters = keys(var.clusters)
  zones    = var.zones
}

module "node_identity" {
  source   = "../../modules/node-identity"
  for_each = var.clusters

  project    = var.project
  account_id = "tpu-nodes-${each.key}"
}

module "controller_identity" {
  source   = "../../modules/controller-identity"
  for_each = var.clusters

  project               = var.project
  account_id            = "tpu-node-group-${each.key}"
  role_id               = "tpuNodeGroupOperator.${replace(each.key, "-", "_")}"
  subscription          = module.event_pipeline.subscriptions[each.key]
  node_service_accounts = { nodes = module.node_identity[each.key].name }

  federation = {
    issuer  = each.value.issuer
    pool_id = "tpu-node-group-${each.key}"
  }
}

module "alerts" {
  source = "../../modules/alerts"

  project                  = var.project
  subscriptions            = module.event_pipeline.subscriptions
  dead_letter_subscription = module.event_pipeline.dead_letter_subscription
  sink                     = module.event_pipeline.sink
}
