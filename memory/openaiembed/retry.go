package openaiembed

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// How long it takes until a request is repeated, the first time and at most.
const (
	shortestWait = 500 * time.Millisecond
	longestWait  = time.Minute
)

// repeating returns a client that repeats one request, unless the wait for that
// would outlast the context: the failure that is known tells more then than a
// timeout, and sooner.
func repeating(client *http.Client, retries int) *retryablehttp.Client {
	attempt := 0
	return &retryablehttp.Client{
		HTTPClient: client, RetryMax: retries,
		RetryWaitMin: shortestWait, RetryWaitMax: longestWait, Backoff: wait,
		CheckRetry: func(ctx context.Context, response *http.Response, failure error) (bool, error) {
			again, err := isPassing(ctx, response, failure)
			until, bounded := ctx.Deadline()
			if bounded && time.Until(until) <= wait(shortestWait, longestWait, attempt, response) {
				again = false
			}
			attempt++
			return again, err
		},
		// The last answer says more than the number of attempts.
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
}

// isPassing reports whether a failure may pass if the request is repeated.
func isPassing(ctx context.Context, response *http.Response, err error) (bool, error) {
	if errors.Is(err, context.DeadlineExceeded) {
		return false, err // the endpoint may still be at work on it
	}
	if err == nil && (response.StatusCode == http.StatusRequestTimeout || response.StatusCode == http.StatusConflict) {
		return ctx.Err() == nil, ctx.Err()
	}
	return retryablehttp.DefaultRetryPolicy(ctx, response, err)
}

// wait is the library's own, which looks for a Retry-After header with two
// statuses only, and waits for however long that says.
func wait(shortest, longest time.Duration, attempt int, response *http.Response) time.Duration {
	if response != nil && response.Header.Get("Retry-After") != "" {
		busy := *response
		busy.StatusCode = http.StatusServiceUnavailable
		response = &busy
	}
	return min(retryablehttp.DefaultBackoff(shortest, longest, attempt, response), longest)
}
