# That the parts fit: the operator takes from the subscription that is made, and may attach the account that is made.

mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }

  mock_resource "google_logging_project_sink" {
    defaults = { writer_identity = "serviceAccount:sink@gcp-sa-logging.iam.gserviceaccount.com" }
  }

  override_resource {
    target = module.node_identity.google_service_account.node
    values = {
      email = "tpu-nodes@my-project.iam.gserviceaccount.com"
      name  = "projects/my-project/serviceAccounts/tpu-nodes@my-project.iam.gserviceaccount.com"
    }
  }

  override_resource {
    target = module.controller_identity.google_service_account.operator
    values = {
      email = "tpu-node-group@my-project.iam.gserviceaccount.com"
      name  = "projects/my-project/serviceAccounts/tpu-node-group@my-project.iam.gserviceaccount.com"
    }
  }
}

variables {
  project = "my-project"
}

run "the_outputs_are_the_operators_settings" {
  assert {
    condition = output.operator_settings == { default = {
      cluster_name         = "default"
      node_service_account = "tpu-nodes@my-project.iam.gserviceaccount.com"
      project              = "my-project"
      subscription         = "projects/my-project/subscriptions/tpu-node-group-events-default"
    } }
    error_message = "The settings must name the cluster, the project, its subscription and the nodes' account."
  }

  assert {
    condition     = output.operator_account == "tpu-node-group@my-project.iam.gserviceaccount.com" && output.credentials_config == null
    error_message = "Without an issuer the operator's account must be attached to a VM, and be given out."
  }

  assert {
    condition     = output.probe_subscription == "projects/my-project/subscriptions/tpu-node-group-events-probe"
    error_message = "The probe's subscription must be given out, for doctor."
  }
}

run "with_an_issuer_there_is_a_credential_configuration" {
  variables {
    issuer = "https://cluster.example"
  }

  assert {
    condition     = jsondecode(output.credentials_config).service_account_impersonation_url == "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/tpu-node-group@my-project.iam.gserviceaccount.com:generateAccessToken"
    error_message = "The configuration must lead to the operator's account."
  }
}
