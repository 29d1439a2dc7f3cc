# What a variable must not be: each is refused with its message, before anything is made.

mock_provider "google" {}

variables {
  project = "my-project"
}

run "refuses_a_project_that_is_no_id" {
  command = plan

  variables {
    project = "123"
  }

  expect_failures = [var.project]
}

run "refuses_an_account_of_capitals" {
  command = plan

  variables {
    account_id = "TPU-nodes"
  }

  expect_failures = [var.account_id]
}

run "refuses_a_node_project_that_is_no_id" {
  command = plan

  variables {
    node_projects = [""]
  }

  expect_failures = [var.node_projects]
}
