// A provider for tests only: the google provider's schema, and nothing behind it.
//
// Terraform itself does the rest: it checks configurations against the schema, and plans. What a real provider would
// learn from Google Cloud is unknown in a plan here too, and made up when applied (values.go). Nothing leaves the machine.
package main

import (
	"log"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
)

func main() {
	schemas, err := loadSchemas()
	if err != nil {
		log.Fatal(err)
	}
	err = tf6server.Serve("registry.terraform.io/hashicorp/google", func() tfprotov6.ProviderServer {
		return &server{schemas: schemas}
	})
	if err != nil {
		log.Fatal(err)
	}
}
