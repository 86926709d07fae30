package tuning

import (
	"path/filepath"
)

// turbo goes under one of three names: intel_pstate has it the other way round, others have it for all, or by policy.
type turbo struct{ plain }

func (turbo) about() traits {
	return traits{
		key: "turbo", needs: "switch of turbo (intel_pstate/no_turbo, cpufreq/boost)",
		disturbs: []string{"frequency"}, // some drivers set the highest frequency anew
	}
}

func (turbo) wants(tuning Tuning) bool { return tuning.Turbo != "" }

func (turbo) files(h Host) ([]string, bool) {
	if whole := h.answering(h.cpu("intel_pstate/no_turbo"), h.cpu("cpufreq/boost")); len(whole) > 0 {
		return whole[:1], true
	}
	return has(h.answering(numbered(h.cpu("cpufreq/policy*/boost"))...))
}

func (turbo) offers(Host) string { return "on, off" }

func (t turbo) values(h Host, tuning Tuning) ([]value, error) {
	files, _ := t.files(h)
	values := each(files, "0")
	for i, file := range files {
		if (tuning.Turbo == "on") != (filepath.Base(file) == "no_turbo") {
			values[i].text = "1"
		}
	}
	return values, nil
}

// isOn is whether any of its switches is on now.
func (t turbo) isOn(h Host) bool {
	values, _ := t.values(h, Tuning{Turbo: "on"})
	for _, on := range values {
		if now, _ := h.read(on.file); now == on.text {
			return true
		}
	}
	return false
}

// smt is a core as two hardware threads. Without it the second ones are off: what belongs to them vanishes or is silent,
// and comes back as the kernel likes it.
type smt struct{ plain }

func (smt) about() traits {
	return traits{
		key: "smt", needs: "switch of hardware threads (smt/control)",
		disturbs: []string{"turbo", "governor", "frequency", "cstates", "irqs"},
	}
}

func (smt) wants(tuning Tuning) bool { return tuning.SMT != "" }

func (smt) files(h Host) ([]string, bool) { return has(h.answering(h.cpu("smt/control"))) }

func (s smt) offers(h Host) string {
	if s.canSwitch(h) {
		return "on, off"
	}
	return s.state(h)
}

func (s smt) values(h Host, tuning Tuning) ([]value, error) {
	control := h.cpu("smt/control")
	if s.canSwitch(h) {
		return []value{{control, tuning.SMT}}, nil
	}
	if tuning.SMT != s.state(h) {
		now, _ := h.read(control)
		return nil, refused("leave tuning.smt out, or set it in the firmware; now they are "+s.state(h),
			"%s: hardware threads cannot be turned %s here, it says %s", control, tuning.SMT, now)
	}
	return nil, nil // it has the requested value, and no other is possible
}

// canSwitch is false where the control says forceoff, notsupported or notimplemented.
func (smt) canSwitch(h Host) bool {
	now, _ := h.read(h.cpu("smt/control"))
	return now == "on" || now == "off"
}

// state is on where two threads of one core are on now.
func (smt) state(h Host) string {
	if active, _ := h.read(h.cpu("smt/active")); active == "1" {
		return "on"
	}
	return "off"
}
