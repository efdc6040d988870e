package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// cniPlugins is where Debian's containernetworking-plugins are.
const cniPlugins = "/usr/lib/cni"

// containerdConfig keeps all that containerd writes in the room. Without
// restrict_oom_score_adj runc fails where CAP_SYS_RESOURCE is missing.
const containerdConfig = `version = 2
root = "%[1]s/root"
state = "%[1]s/state"
[grpc]
  address = "%[2]s"
[plugins."io.containerd.internal.v1.opt"]
  path = "%[1]s/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "%[3]s"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "%[4]s"
    conf_dir = "%[1]s/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = "%[1]s/runc"
`

// cniConfig gives pods addresses on the room's bridge and no route out of it:
// so there is nothing to masquerade and forwarding stays as it was.
const cniConfig = `{
  "cniVersion": "0.4.0",
  "name": "%[1]s",
  "plugins": [{
    "type": "bridge",
    "bridge": "%[2]s",
    "ipam": {
      "type": "host-local",
      "dataDir": "%[3]s/addresses",
      "ranges": [[{"subnet": "%[4]s", "gateway": "%[5]s"}]]
    }
  }]
}
`

// startContainerd starts containerd with the room's network and the images.
func startContainerd(ctx context.Context, s *supervisor, images []archived) error {
	room := s.room
	for _, file := range []struct{ path, content string }{
		{room.path("containerd.toml"), fmt.Sprintf(containerdConfig, room.directory, room.socket(), pauseImage, cniPlugins)},
		{room.path("cni", "10-lab.conflist"), fmt.Sprintf(cniConfig,
			room.network(), room.bridge(), room.directory, room.subnet(), room.address())},
	} {
		if err := os.MkdirAll(filepath.Dir(file.path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file.path, []byte(file.content), 0o644); err != nil {
			return err
		}
	}
	if err := startBridge(room); err != nil {
		return err
	}
	containerd, err := exec.LookPath("containerd")
	if err != nil {
		return err
	}
	child, err := s.startProgram("containerd", containerd, "--config="+room.path("containerd.toml"))
	if err != nil {
		return err
	}
	// The kubelet, started later, has ended by then; nothing makes new pods.
	child.beforeStop = func() {
		if err := removePods(room); err != nil {
			say("removing the pods: %v", err)
		}
	}
	if err := s.wait(ctx, "containerd", func(ctx context.Context) bool {
		return ctr(ctx, room, "version") == nil
	}); err != nil {
		return err
	}
	return importImages(ctx, room, images)
}

// startBridge makes the pods' bridge with the node's address on it, so that the
// node has an address that does not depend on the machine's network.
func startBridge(room *nodeRoom) error {
	for _, arguments := range [][]string{
		{"link", "add", room.bridge(), "type", "bridge"},
		{"address", "add", room.address() + "/24", "dev", room.bridge()},
		{"link", "set", room.bridge(), "up"},
	} {
		if err := runQuietly("ip", arguments...); err != nil {
			return err
		}
	}
	return nil
}

func importImages(ctx context.Context, room *nodeRoom, images []archived) error {
	began := time.Now()
	for _, one := range images {
		path := room.path("image.tar")
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		err = one.archive(file)
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err == nil {
			err = ctr(ctx, room, "--namespace", criNamespace, "images", "import", path)
		}
		if err != nil {
			return fmt.Errorf("image %s: %w", one.name(), err)
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	debug.FreeOSMemory() // a lab stays for long, and the layers passed through here
	say("%d images imported in %.1f s", len(images), time.Since(began).Seconds())
	return nil
}

// ctr is containerd's own client.
func ctr(ctx context.Context, room *nodeRoom, arguments ...string) error {
	ctx, cancel := context.WithTimeout(ctx, eachReady)
	defer cancel()
	command := exec.CommandContext(ctx, "ctr", append([]string{"--address", room.socket()}, arguments...)...)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("ctr %v: %w: %s", arguments, err, output)
	}
	return nil
}

// removePods ends every container, and undoes the pods' networks and mounts.
func removePods(room *nodeRoom) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	runtime, disconnect, err := connectRuntime(ctx, "unix://"+room.socket())
	if err != nil {
		return err
	}
	defer disconnect()
	sandboxes, err := runtime.ListPodSandbox(ctx, &runtimeapi.PodSandboxFilter{})
	if err != nil {
		return err
	}
	for _, sandbox := range sandboxes {
		if err := runtime.StopPodSandbox(ctx, sandbox.Id); err != nil {
			return err
		}
		if err := runtime.RemovePodSandbox(ctx, sandbox.Id); err != nil {
			return err
		}
	}
	return nil
}
