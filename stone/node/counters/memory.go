package counters

import "github.com/prometheus/procfs"

// memory reads /proc/meminfo.
type memory struct{ proc procfs.FS }

func openMemory(h *Host) (collector, error) {
	_, err := h.proc.Meminfo()
	return memory{h.proc}, err
}

func (m memory) read(r *reading) error {
	info, err := m.proc.Meminfo()
	if err != nil {
		return err
	}
	putSum(r, "memory_total_bytes", info.MemTotalBytes)
	putSum(r, "memory_available_bytes", info.MemAvailableBytes)
	putSum(r, "memory_free_bytes", info.MemFreeBytes)
	putSum(r, "memory_user_bytes", info.AnonPagesBytes, info.MappedBytes)
	putSum(r, "memory_cached_bytes", info.CachedBytes)
	putSum(r, "memory_buffers_bytes", info.BuffersBytes)
	putSum(r, "memory_slab_bytes", info.SlabBytes)
	putSum(r, "memory_page_tables_bytes", info.PageTablesBytes)
	putSum(r, "memory_swap_cached_bytes", info.SwapCachedBytes)
	if info.SwapTotalBytes != nil && info.SwapFreeBytes != nil {
		r.put("node", "swap_used_bytes", float64(*info.SwapTotalBytes)-float64(*info.SwapFreeBytes))
	}
	return nil
}

// putSum puts a metric of the node, if the kernel reports all parts of it.
func putSum(r *reading, metric string, parts ...*uint64) {
	sum := uint64(0)
	for _, part := range parts {
		if part == nil {
			return
		}
		sum += *part
	}
	r.put("node", metric, float64(sum))
}

func (memory) close() {}
