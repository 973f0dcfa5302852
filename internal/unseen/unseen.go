// Package unseen knows the characters that a reader does not see where they
// stand. Text that others wrote must not hold them as they are: they can drive
// a terminal, begin a new line, or reorder and hide what stands around them.
package unseen

import "unicode"

// Is reports whether r is such a character. The joiners are not, although they
// have no shape: they are parts of words and of emoji.
func Is(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'
	return !unicode.IsGraphic(r) && r != zeroWidthNonJoiner && r != zeroWidthJoiner
}
