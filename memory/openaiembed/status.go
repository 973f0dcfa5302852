package openaiembed

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/loopmem/loopmem/memory"
)

// StatusError is an answer that refuses a request, or reports a failure.
type StatusError struct {
	Code int // of HTTP
	// Reason is what the endpoint says; empty with 401 and 403, where some
	// quote the key.
	Reason string
}

// Error returns the status and the reason.
func (e *StatusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("%d %s", e.Code, http.StatusText(e.Code))) // not every code has a name
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// refusal is the error that the status of an answer reports. It tells texts
// that the model does not take from other failures.
func refusal(response *http.Response, said []byte) error {
	err := &StatusError{Code: response.StatusCode, Reason: reason(said)}
	switch err.Code {
	case http.StatusOK:
		return nil
	case http.StatusUnauthorized, http.StatusForbidden:
		err.Reason = ""
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: %w", memory.ErrText, err)
	}
	return err
}
