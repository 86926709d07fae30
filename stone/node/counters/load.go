package counters

import "github.com/prometheus/procfs"

// load reads /proc/loadavg.
type load struct{ proc procfs.FS }

func openLoad(h *Host) (collector, error) {
	_, err := h.proc.LoadAvg()
	return load{h.proc}, err
}

func (l load) read(r *reading) error {
	averages, err := l.proc.LoadAvg()
	if err != nil {
		return err
	}
	r.put("node", "load1", averages.Load1)
	r.put("node", "load5", averages.Load5)
	r.put("node", "load15", averages.Load15)
	return nil
}

func (load) close() {}
