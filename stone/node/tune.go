package node

import (
	"context"
	"errors"

	"loadstone.dev/stone/node/tuning"
)

type tuneArgs struct {
	Tuning  tuning.Tuning `json:"tuning"`
	Command string        `json:"command"`
}

// tune sets knobs of this host until the client restores them, or its channel ends.
func (n *Node) tune(ctx context.Context, c *call, args tuneArgs) (answer, error) {
	changes, err := n.tuner.Tune(ctx, args.Tuning, args.Command, func(knob string) {
		_ = c.event(map[string]string{"knob": knob}, nil) // a client that has gone cancels ctx
	})
	if err != nil {
		return answer{}, tuningFault(err)
	}
	return answer{value: map[string]any{"changes": changes}}, nil
}

// verify is what is not, or no longer, as this client has set it.
func (n *Node) verify(context.Context, *call, struct{}) (answer, error) {
	differences, err := n.tuner.Verify()
	if err != nil {
		return answer{}, tuningFault(err)
	}
	return answer{value: map[string]any{"differences": differences}}, nil
}

// restore sets back what this client has set, or one whose node has ended.
func (n *Node) restore(ctx context.Context, _ *call, _ struct{}) (answer, error) {
	restored, err := n.tuner.Restore(ctx)
	if err != nil {
		return answer{}, tuningFault(err)
	}
	return answer{value: map[string]any{"restored": restored}}, nil
}

// tuned is who has tuned this host.
func (n *Node) tuned(context.Context, *call, struct{}) (answer, error) {
	tuned, err := n.tuner.Tuned()
	if err != nil {
		return answer{}, tuningFault(err)
	}
	return answer{value: map[string]any{"tuned": tuned}}, nil
}

type knobsArgs struct {
	Tuning tuning.Tuning `json:"tuning"`
}

// knobs is what this host has, what of a tuning it does not take, and what of it disturbs a measurement.
func (n *Node) knobs(_ context.Context, _ *call, args knobsArgs) (answer, error) {
	host := tuning.On(n.Sys, n.Proc)
	return answer{value: map[string]any{
		"knobs": tuning.Offers(host), "problems": tuning.Check(host, args.Tuning), "conditions": tuning.Examine(host),
	}}, nil
}

func tuningFault(err error) error {
	if found := (*tuning.Error)(nil); errors.As(err, &found) {
		return faultf(Kind(found.Kind), "%s", found.Message).with(found.Remedy)
	}
	return err
}
