package counters

import (
	"fmt"
	"testing"
)

// BenchmarkReading makes one reading of the fixture of two sockets with 33 containers, as files on disk.
func BenchmarkReading(b *testing.B) {
	host, folder := machine(b, "intel.txt")
	wanted := map[string]Subject{}
	for i := range 33 {
		id := fmt.Sprintf("%064x", i)
		wanted[fmt.Sprintf("rate-%d", i)] = Subject{Container: id}
		pid := fmt.Sprint(1000 + i)
		process(b, folder+"/proc", 1000+i, "S", "0", "3:memory:/docker/"+id+"\n")
		inNetwork(b, folder+"/proc", pid, pid)
		tree(b, folder+"/cgroup", map[string]string{
			"cpu,cpuacct/docker/" + id + "/cpu.stat":           "nr_periods 10\nnr_throttled 4\nthrottled_time 300000000\n",
			"cpu,cpuacct/docker/" + id + "/cpuacct.usage":      "2500000000\n",
			"cpu,cpuacct/docker/" + id + "/cpuacct.usage_user": "2500000000\n",
			"cpu,cpuacct/docker/" + id + "/cpuacct.usage_sys":  "2500000000\n",
			"cpuset/docker/" + id + "/cpuset.cpus":             "0\n",
			"memory/docker/" + id + "/memory.usage_in_bytes":   "4096\n",
			"memory/docker/" + id + "/cgroup.procs":            pid + "\n",
			"memory/docker/" + id + "/tasks":                   pid + "\n",
		})
	}
	inNetwork(b, folder+"/proc", "1", "1")
	unpack(b, "intel.txt", folder)
	opened := host.openNode()
	opened.join(*replicas(b, host, wanted))
	defer opened.close()
	r := reading{}
	b.ReportAllocs()
	for b.Loop() {
		opened.read(&r)
	}
	b.ReportMetric(float64(len(r.points)), "numbers/op")
}
