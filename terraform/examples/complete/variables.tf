variable "project" {
  description = "The project of everything."
  type        = string
}

variable "storage_regions" {
  description = "Regions in which messages may be stored. None: wherever the organization's policy allows."
  type        = set(string)
  default     = []
}

variable "issuer" {
  description = "The cluster's --service-account-issuer, for federation. None: the operator runs on a VM whose attached account it is."
  type        = string
  default     = null
}

variable "notification_channels" {
  description = "Who is told of trouble, as projects/P/notificationChannels/N."
  type        = list(string)
  default     = []
}
