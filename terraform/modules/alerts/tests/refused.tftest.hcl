# What a variable must not be: each is refused with its message, before anything is made.

mock_provider "google" {}

variables {
  project                  = "my-project"
  subscriptions            = { default = "projects/my-project/subscriptions/s" }
  dead_letter_subscription = "d"
  sink                     = "k"
}

run "refuses_a_project_that_is_no_id" {
  command = plan

  variables {
    project = "123"
  }

  expect_failures = [var.project]
}

run "refuses_no_subscription" {
  command = plan

  variables {
    subscriptions = {}
  }

  expect_failures = [var.subscriptions]
}

run "refuses_a_subscription_by_its_short_name" {
  command = plan

  variables {
    subscriptions = { default = "s" }
  }

  expect_failures = [var.subscriptions]
}

run "refuses_a_channel_that_is_an_email" {
  command = plan

  variables {
    notification_channels = ["jo@example.com"]
  }

  expect_failures = [var.notification_channels]
}

run "refuses_runbooks_with_a_slash_at_the_end" {
  command = plan

  variables {
    runbooks_url = "https://example.com/runbooks/"
  }

  expect_failures = [var.runbooks_url]
}

run "refuses_deaf_after_one_canary" {
  command = plan

  variables {
    deaf_minutes = 9
  }

  expect_failures = [var.deaf_minutes]
}

run "refuses_messages_that_may_not_wait" {
  command = plan

  variables {
    oldest_message_minutes = 0
  }

  expect_failures = [var.oldest_message_minutes]
}

run "refuses_slices_that_may_never_be_down" {
  command = plan

  variables {
    not_ready_minutes = 0
  }

  expect_failures = [var.not_ready_minutes]
}
