// Command criserver is a container runtime for tests: Kubernetes' own fake of the Container Runtime Interface, which
// records pods and containers and runs nothing. It listens on the unix socket that its only argument names until it is
// ended, and writes each request to create a container to standard output, one JSON object a line: that is how a test
// sees which environment, mounts and devices the kubelet gave.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-client/pkg/fake"
)

// imageSize is what every image weighs, in bytes: the kubelet refuses an image without a size.
const imageSize = 100

// runtime is the fake, with the requests to create containers written out.
type runtime struct {
	*fake.RemoteRuntime
}

func (r runtime) CreateContainer(ctx context.Context, request *cri.CreateContainerRequest) (*cri.CreateContainerResponse, error) {
	line, err := protojson.Marshal(request)
	if err != nil {
		return nil, err
	}
	fmt.Println(string(line))
	return r.RemoteRuntime.CreateContainer(ctx, request)
}

func newRuntime() runtime {
	recorded := fake.NewFakeRemoteRuntime()
	recorded.ImageService.SetFakeImageSize(imageSize)
	recorded.RuntimeService.FakeStatus = &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{
		{Type: cri.RuntimeReady, Status: true},
		{Type: cri.NetworkReady, Status: true},
	}}
	return runtime{recorded}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: criserver /path/to/runtime.sock")
	}
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatalf("criserver cannot listen on %s: %v", os.Args[1], err)
	}
	server := grpc.NewServer()
	runtime := newRuntime()
	cri.RegisterRuntimeServiceServer(server, runtime)
	cri.RegisterImageServiceServer(server, runtime)
	ended, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ended, server.Stop)
	if err := server.Serve(listener); err != nil {
		log.Fatalf("criserver: %v", err)
	}
}
