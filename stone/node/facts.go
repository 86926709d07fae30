package node

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"loadstone.dev/stone/node/counters"
)

// Hello is the first line that a node writes.
type Hello struct {
	Event    string `json:"event"`
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	Arch     string `json:"arch"`
	Boot     string `json:"boot"` // id of the kernel's boot
	Hostname string `json:"hostname"`
	UID      int    `json:"uid"`
	PID      int    `json:"pid"`
	State    string `json:"state"`
}

func (n *Node) hello() (Hello, error) {
	boot, err := n.boot()
	if err != nil {
		return Hello{}, err
	}
	host, err := os.Hostname()
	return Hello{"hello", Protocol, n.Version, runtime.GOARCH, boot, host, os.Geteuid(), os.Getpid(), n.State}, err
}

// boot is the id of the kernel's boot: process ids and control groups of another one mean nothing any more.
func (n *Node) boot() (string, error) {
	text, err := os.ReadFile(filepath.Join(n.Proc, "sys/kernel/random/boot_id"))
	return strings.TrimSpace(string(text)), err
}

// Facts are what does not change while a study runs, and what is free now. Sizes are in bytes.
type Facts struct {
	Hostname        string     `json:"hostname"`
	Kernel          string     `json:"kernel"`
	OS              string     `json:"os"`
	Arch            string     `json:"arch"`
	Boot            string     `json:"boot"`
	UID             int        `json:"uid"`
	CPUs            []int      `json:"cpus"`       // those that this process may use
	Processors      int        `json:"processors"` // all of the machine's
	CPUModel        string     `json:"cpu_model"`
	Governor        string     `json:"governor"` // frequency governor of the first processor; empty where the kernel does not set it
	Load            float64    `json:"load"`     // average of one minute
	Memory          uint64     `json:"memory"`
	MemoryAvailable uint64     `json:"memory_available"`
	Page            int        `json:"page"` // what the kernel counts memory in
	Swap            uint64     `json:"swap"`
	Hypervisor      Hypervisor `json:"hypervisor"`
	Product         string     `json:"product"` // DMI's name of the machine; empty where the kernel has none
	// Hardware is what the kernel reports of it, by part: firmware, microcode, nics, disks.
	Hardware map[string]string `json:"hardware"`
	// Namespaces are whose those of the node itself are, by kind.
	Namespaces map[string]counters.Owner `json:"namespaces"`
	Cgroups    string                    `json:"cgroups"` // "v1", "v2", or "" without the controllers that limits need
	// CPULimit (cores' worth of time) and MemoryLimit are those that the node itself is held to, with the session that it
	// is in; nil: unlimited, or unknown.
	CPULimit    *float64 `json:"cpu_limit"`
	MemoryLimit *int64   `json:"memory_limit"`
	// UnlimitedBecause says why no limits can be set; empty if they can.
	UnlimitedBecause string            `json:"unlimited_because"`
	Disks            map[string]uint64 `json:"disks"` // bytes that are free to this user, by folder
	Tools            map[string]string `json:"tools"` // paths of the requested ones that are installed
}

// Hypervisor is present where the processor or the firmware says so.
type Hypervisor struct {
	Present bool   `json:"present"`
	Name    string `json:"name"` // the machine's maker, which for guests is the hypervisor's
}

type factsArgs struct {
	Tools []string `json:"tools"`
}

func (n *Node) facts(_ context.Context, _ *call, args factsArgs) (answer, error) {
	hello, err := n.hello()
	if err != nil {
		return answer{}, err
	}
	proc, err := procfs.NewFS(n.Proc)
	if err != nil {
		return answer{}, err
	}
	memory, err := proc.Meminfo()
	if err != nil {
		return answer{}, err
	}
	facts := Facts{
		Hostname:         hello.Hostname,
		Kernel:           n.text("sys/kernel/osrelease"),
		OS:               osName(),
		Arch:             hello.Arch,
		Boot:             hello.Boot,
		UID:              hello.UID,
		CPUs:             allowedCPUs(0),
		Governor:         n.governor(),
		Memory:           bytesOf(memory.MemTotalBytes),
		MemoryAvailable:  bytesOf(memory.MemAvailableBytes),
		Page:             os.Getpagesize(),
		Swap:             bytesOf(memory.SwapTotalBytes),
		Hypervisor:       n.hypervisor(),
		Product:          n.dmi("product_name"),
		Hardware:         n.hardware(),
		Namespaces:       counters.Namespaces(n.Proc, "self"),
		Cgroups:          n.groups.Version(),
		UnlimitedBecause: n.groups.Problem(),
		Disks:            map[string]uint64{},
		Tools:            map[string]string{},
	}
	if host, err := n.reader(); err == nil {
		if own, err := host.Own(); err == nil {
			facts.CPULimit, facts.MemoryLimit = own.CPU, own.Memory
		}
	}
	if processors, err := proc.CPUInfo(); err == nil && len(processors) > 0 {
		facts.Processors, facts.CPUModel = len(processors), processors[0].ModelName
	}
	if load, err := proc.LoadAvg(); err == nil {
		facts.Load = load.Load1
	}
	for _, folder := range []string{n.State, os.TempDir()} {
		if free, err := freeBytes(folder); err == nil {
			facts.Disks[folder] = free
		}
	}
	for _, tool := range args.Tools {
		if path, err := exec.LookPath(tool); err == nil {
			facts.Tools[tool] = path
		}
	}
	return answer{value: facts}, nil
}

// machines are words in the maker or the product that firmware names only in guests. The processors of most hypervisors
// have a flag as well, but not on every architecture.
var machines = regexp.MustCompile(`(?i)\b(QEMU|KVM|VMware|VirtualBox|Virtual Machine|Xen|Bochs|BHYVE|Parallels)\b`)

func (n *Node) hypervisor() Hypervisor {
	flag := strings.Contains(strings.ReplaceAll(n.text("cpuinfo"), "\n", " ")+" ", " hypervisor ")
	maker := n.dmi("sys_vendor")
	if flag || machines.MatchString(maker+" "+n.dmi("product_name")) {
		return Hypervisor{true, maker}
	}
	return Hypervisor{}
}

func (n *Node) text(file string) string {
	text, _ := os.ReadFile(filepath.Join(n.Proc, file)) // an empty fact says that there is none
	return strings.TrimSpace(string(text))
}

func (n *Node) governor() string {
	text, _ := os.ReadFile(filepath.Join(n.Sys, "devices/system/cpu/cpu0/cpufreq/scaling_governor"))
	return strings.TrimSpace(string(text))
}

func (n *Node) dmi(name string) string {
	text, _ := os.ReadFile(filepath.Join(n.Sys, "class/dmi/id", name))
	return strings.TrimSpace(string(text))
}

// osName is PRETTY_NAME of os-release(5).
func osName() string {
	text, _ := os.ReadFile("/etc/os-release")
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); is {
			return strings.Trim(value, `"'`)
		}
	}
	return runtime.GOOS
}

// allowedCPUs are those that a process may use, this one for 0; none where there is no such process.
func allowedCPUs(pid int) []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(pid, &set) != nil {
		return []int{}
	}
	cpus := make([]int, 0, set.Count())
	for cpu := 0; len(cpus) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

func bytesOf(number *uint64) uint64 {
	if number == nil {
		return 0
	}
	return *number
}

// freeBytes are those below a folder, which may not be there yet.
func freeBytes(folder string) (uint64, error) {
	stat := unix.Statfs_t{}
	err := unix.Statfs(folder, &stat)
	for err == unix.ENOENT && folder != "/" {
		folder = filepath.Dir(folder)
		err = unix.Statfs(folder, &stat)
	}
	return stat.Bavail * uint64(stat.Bsize), err
}

// Clock is both clocks of the kernel, read one after the other.
type Clock struct {
	RealtimeNS  int64 `json:"realtime_ns"`
	MonotonicNS int64 `json:"monotonic_ns"`
}

func (n *Node) clock(context.Context, *call, struct{}) (answer, error) {
	realtime, monotonic := unix.Timespec{}, unix.Timespec{}
	err := cmp.Or(unix.ClockGettime(unix.CLOCK_REALTIME, &realtime), unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic))
	return answer{value: Clock{realtime.Nano(), monotonic.Nano()}}, err
}
