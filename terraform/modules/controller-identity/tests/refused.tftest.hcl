# What a variable must not be: each is refused with its message, before anything is made.

mock_provider "google" {}

variables {
  project      = "my-project"
  subscription = "projects/my-project/subscriptions/s"
}

run "refuses_a_project_that_is_no_id" {
  command = plan

  variables {
    project = "123"
  }

  expect_failures = [var.project]
}

run "refuses_an_account_of_five_letters" {
  command = plan

  variables {
    account_id = "short"
  }

  expect_failures = [var.account_id]
}

run "refuses_a_role_id_with_a_hyphen" {
  command = plan

  variables {
    role_id = "tpu-node-group"
  }

  expect_failures = [var.role_id]
}

run "refuses_a_subscription_by_its_short_name" {
  command = plan

  variables {
    subscription = "s"
  }

  expect_failures = [var.subscription]
}

run "refuses_a_node_project_that_is_no_id" {
  command = plan

  variables {
    node_projects = ["My Project"]
  }

  expect_failures = [var.node_projects]
}

run "refuses_a_node_account_by_its_email" {
  command = plan

  variables {
    node_service_accounts = { nodes = "tpu-nodes@my-project.iam.gserviceaccount.com" }
  }

  expect_failures = [var.node_service_accounts]
}

run "refuses_an_issuer_without_https" {
  command = plan

  variables {
    federation = { issuer = "http://cluster.example" }
  }

  expect_failures = [var.federation]
}

run "refuses_a_pool_of_googles" {
  command = plan

  variables {
    federation = { issuer = "https://cluster.example", pool_id = "gcp-pool" }
  }

  expect_failures = [var.federation]
}

run "refuses_keys_of_an_issuer_that_are_none" {
  command = plan

  variables {
    federation = { issuer = "https://cluster.example", jwks_json = "{}" }
  }

  expect_failures = [var.federation]
}

run "refuses_a_key_beside_federation" {
  command = plan

  variables {
    create_key = true
    federation = { issuer = "https://cluster.example" }
  }

  expect_failures = [var.create_key]
}
