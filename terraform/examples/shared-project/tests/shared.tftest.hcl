# That clusters on one project share no subscription and no account.

mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }

  mock_resource "google_logging_project_sink" {
    defaults = { writer_identity = "serviceAccount:sink@gcp-sa-logging.iam.gserviceaccount.com" }
  }

  mock_resource "google_service_account" {
    defaults = { name = "projects/my-project/serviceAccounts/any@my-project.iam.gserviceaccount.com" }
  }
}

variables {
  project = "my-project"
  clusters = {
    blue  = { issuer = "https://blue.example" }
    green = { issuer = "https://green.example" }
  }
}

run "each_cluster_has_settings_of_its_own" {
  assert {
    condition     = { for cluster, settings in output.operator_settings : cluster => [settings.cluster_name, settings.subscription] } == { for cluster in ["blue", "green"] : cluster => [cluster, "projects/my-project/subscriptions/tpu-node-group-events-${cluster}"] }
    error_message = "Each cluster must have its name and its subscription."
  }

  assert {
    condition     = length(distinct([for settings in output.operator_settings : settings.node_service_account])) == 2 && length(distinct(values(output.operator_accounts))) == 2
    error_message = "Each cluster must have accounts of its own, for its operator and for its VMs."
  }

  assert {
    condition     = alltrue([for cluster, config in output.credentials_configs : strcontains(config, output.operator_accounts[cluster])])
    error_message = "Each cluster's credential configuration must lead to its operator's account."
  }
}

run "refuses_no_cluster_at_all" {
  command = plan

  variables {
    clusters = {}
  }

  expect_failures = [var.clusters]
}

run "refuses_a_cluster_whose_accounts_would_be_too_long" {
  command = plan

  variables {
    clusters = { sixteen-letters-x = { issuer = "https://x.example" } }
  }

  expect_failures = [var.clusters]
}
