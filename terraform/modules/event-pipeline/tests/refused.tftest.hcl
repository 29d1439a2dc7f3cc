# What a variable must not be: each is refused with its message, before anything is made.

mock_provider "google" {}

variables {
  project = "my-project"
}

run "refuses_a_project_that_is_no_id" {
  command = plan

  variables {
    project = "My Project"
  }

  expect_failures = [var.project]
}

run "refuses_a_name_that_begins_with_goog" {
  command = plan

  variables {
    name = "google-events"
  }

  expect_failures = [var.name]
}

run "refuses_a_name_with_a_slash" {
  command = plan

  variables {
    name = "tpu/events"
  }

  expect_failures = [var.name]
}

run "refuses_no_cluster_at_all" {
  command = plan

  variables {
    clusters = []
  }

  expect_failures = [var.clusters]
}

run "refuses_a_cluster_of_capitals" {
  command = plan

  variables {
    clusters = ["Blue"]
  }

  expect_failures = [var.clusters]
}

run "refuses_a_cluster_called_probe" {
  command = plan

  variables {
    clusters = ["probe"]
  }

  expect_failures = [var.clusters]
}

run "refuses_a_folder_with_its_prefix" {
  command = plan

  variables {
    folder = "folders/222"
  }

  expect_failures = [var.folder]
}

run "refuses_an_organization_by_its_domain" {
  command = plan

  variables {
    organization = "example.com"
  }

  expect_failures = [var.organization]
}

run "refuses_folder_and_organization_at_once" {
  command = plan

  variables {
    folder       = "222"
    organization = "333"
  }

  expect_failures = [var.organization]
}

run "refuses_a_region_for_a_zone" {
  command = plan

  variables {
    zones = ["us-central1"]
  }

  expect_failures = [var.zones]
}

run "refuses_a_name_pattern_with_a_quote" {
  command = plan

  variables {
    name_pattern = "a\" OR \"b"
  }

  expect_failures = [var.name_pattern]
}

run "refuses_a_name_pattern_that_is_no_expression" {
  command = plan

  variables {
    name_pattern = "(train"
  }

  expect_failures = [var.name_pattern]
}

run "refuses_an_ack_deadline_below_ten" {
  command = plan

  variables {
    ack_deadline_seconds = 9
  }

  expect_failures = [var.ack_deadline_seconds]
}

run "refuses_an_ack_deadline_above_six_hundred" {
  command = plan

  variables {
    ack_deadline_seconds = 601
  }

  expect_failures = [var.ack_deadline_seconds]
}

run "refuses_a_back_off_that_ends_below_its_beginning" {
  command = plan

  variables {
    retry_seconds = { minimum = 61 }
  }

  expect_failures = [var.retry_seconds]
}

run "refuses_a_back_off_above_six_hundred" {
  command = plan

  variables {
    retry_seconds = { maximum = 601 }
  }

  expect_failures = [var.retry_seconds]
}

run "refuses_four_delivery_attempts" {
  command = plan

  variables {
    max_delivery_attempts = 4
  }

  expect_failures = [var.max_delivery_attempts]
}

run "refuses_a_hundred_and_one_delivery_attempts" {
  command = plan

  variables {
    max_delivery_attempts = 101
  }

  expect_failures = [var.max_delivery_attempts]
}

run "refuses_a_retention_below_ten_minutes" {
  command = plan

  variables {
    message_retention_seconds = 599
  }

  expect_failures = [var.message_retention_seconds]
}

run "refuses_a_retention_above_seven_days" {
  command = plan

  variables {
    message_retention_seconds = 604801
  }

  expect_failures = [var.message_retention_seconds]
}

run "refuses_a_key_by_its_short_name" {
  command = plan

  variables {
    kms_key_name = "k"
  }

  expect_failures = [var.kms_key_name]
}

run "refuses_a_zone_for_a_storage_region" {
  command = plan

  variables {
    storage_regions = ["us-central1-c"]
  }

  expect_failures = [var.storage_regions]
}

run "refuses_members_of_a_probe_that_is_not_there" {
  command = plan

  variables {
    probe_members = ["user:jo@example.com"]
  }

  expect_failures = [var.probe_members]
}

run "refuses_everybody_as_a_member" {
  command = plan

  variables {
    probe         = true
    probe_members = ["allUsers"]
  }

  expect_failures = [var.probe_members]
}
