package social

import (
	"context"
	"strings"

	"golang.org/x/sync/errgroup"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/exceptions"
	"loadstone.dev/stone/platform/service"
)

type textService struct {
	urls     idl.UrlShortenService
	mentions idl.UserMentionService
	quirks   bool
}

func startText(_ context.Context, host *service.Host) error {
	urls, err := host.DialThrift("url-shorten")
	if err != nil {
		return err
	}
	mentions, err := host.DialThrift("user-mention")
	if err != nil {
		return err
	}
	host.Thrift = idl.NewTextServiceProcessor(&textService{
		idl.NewUrlShortenServiceClient(urls), idl.NewUserMentionServiceClient(mentions), host.Config.Quirks,
	})
	return nil
}

// ComposeText replaces the URLs of a text by short ones and finds the mentioned users. It calls both services at the
// same time, and even if it has nothing for them, as published.
//
// Quirk: a user who is mentioned twice is looked up twice, and what follows the last URL is lost.
func (t *textService) ComposeText(ctx context.Context, reqID int64, text string, carrier map[string]string) (*idl.TextServiceReturn, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	spans, names := findURLs(text), findMentions(text)
	if !t.quirks {
		names = distinctTexts(names)
	}
	answer := &idl.TextServiceReturn{}
	var both errgroup.Group
	both.Go(func() (err error) {
		answer.Urls, err = t.urls.ComposeUrls(ctx, reqID, cut(text, spans), carrier)
		return exception.CallFailed(err)
	})
	both.Go(func() (err error) {
		answer.UserMentions, err = t.mentions.ComposeUserMentions(ctx, reqID, names, carrier)
		return exception.CallFailed(err)
	})
	if err := both.Wait(); err != nil {
		return nil, err
	}
	if len(answer.Urls) != len(spans) {
		return nil, exception.Exception(exceptions.Handler, "url-shorten: %d short URLs for %d", len(answer.Urls), len(spans))
	}
	answer.Text = replace(text, spans, answer.Urls, t.quirks)
	return answer, nil
}

// cut returns what stands at the spans.
func cut(text string, spans []span) []string {
	parts := make([]string, len(spans))
	for i, at := range spans {
		parts[i] = text[at.start:at.end]
	}
	return parts
}

// replace puts a short URL in the place of each span, and drops the rest after the last of them if it shall.
func replace(text string, spans []span, urls []*idl.URL, dropRest bool) string {
	var replaced strings.Builder
	done := 0
	for i, at := range spans {
		replaced.WriteString(text[done:at.start])
		replaced.WriteString(urls[i].ShortenedURL)
		done = at.end
	}
	if !dropRest || len(spans) == 0 {
		replaced.WriteString(text[done:])
	}
	return replaced.String()
}
