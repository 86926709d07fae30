package media

import (
	"context"

	"loadstone.dev/stone/apps/media/data"
	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/service"
)

type plot struct{ plots *shelf[int64, data.Plot] }

func startPlot(ctx context.Context, host *service.Host) error {
	id := func(one *data.Plot) int64 { return one.PlotID }
	plots, err := openShelf(ctx, host, data.Plots, "memcached-plot", "plot", "plot_id", id)
	if err != nil {
		return err
	}
	host.Thrift = idl.NewPlotServiceProcessor(&plot{plots})
	return nil
}

// WritePlot adds a plot.
func (p *plot) WritePlot(ctx context.Context, _, id int64, words string, _ map[string]string) error {
	if err := firstOf(checkID("plot", id), checkText("plot", words)); err != nil {
		return err
	}
	return p.plots.add(ctx, &data.Plot{PlotID: id, Plot: words})
}

func (p *plot) ReadPlot(ctx context.Context, _, id int64, _ map[string]string) (string, error) {
	found, err := p.plots.get(ctx, id)
	if err != nil {
		return "", err
	}
	return found.Plot, nil
}
