package reference

import (
	"testing"
	"time"
)

func TestASamplerCountsTimeOnAProcessor(t *testing.T) {
	placed := make(chan struct{})
	sampler := Sample(func() { close(placed) })
	<-placed
	for {
		if _, loops := sampler.Total(); loops >= 3*sampleAnswers/float64(answers) {
			break
		}
		time.Sleep(sampleEvery / 10)
	}
	sampler.End()
	seconds, loops := sampler.Total()
	if each := seconds / loops; each < 1e-5 {
		t.Errorf("%d answers cannot take %v s", answers, each)
	}
	time.Sleep(2 * sampleEvery)
	if _, later := sampler.Total(); later != loops {
		t.Errorf("%v more after its end", later-loops)
	}
}
