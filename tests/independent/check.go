// Checks what this product makes with the Go project's own note and tlog packages,
// which share nothing with it: a note, two checkpoints, a cosignature, and both kinds of proof.
package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// What the test writes to standard input.
type made struct {
	LogKey      string   `json:"log_key"`
	WitnessKey  string   `json:"witness_key"`
	Older       string   `json:"older"`
	Newer       string   `json:"newer"`
	Consistency []string `json:"consistency"`
	Proofs      []string `json:"proofs"`
	Entries     []string `json:"entries"`
}

// A witness's key: type 4, and the time before the signature.
type witness struct {
	name   string
	hash   uint32
	public ed25519.PublicKey
}

func (w witness) Name() string    { return w.name }
func (w witness) KeyHash() uint32 { return w.hash }

func (w witness) Verify(text, signature []byte) bool {
	if len(signature) != 8+ed25519.SignatureSize {
		return false
	}
	at := binary.BigEndian.Uint64(signature)
	signed := fmt.Sprintf("cosignature/v1\ntime %d\n%s", at, text)
	return ed25519.Verify(w.public, []byte(signed), signature[8:])
}

func must[T any](found T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return found
}

func insist(err error) { must(0, err) }

func readWitness(text string) witness {
	parts := strings.SplitN(text, "+", 3)
	key := must(base64.StdEncoding.DecodeString(parts[2]))
	if key[0] != 4 {
		insist(fmt.Errorf("a key of type %d", key[0]))
	}
	return witness{parts[0], uint32(must(strconv.ParseUint(parts[1], 16, 32))), key[1:]}
}

func readTree(signed string, signatures int, keys note.Verifiers) tlog.Tree {
	opened := must(note.Open([]byte(signed), keys))
	if len(opened.Sigs) != signatures || len(opened.UnverifiedSigs) != 0 {
		insist(fmt.Errorf("%d signatures verified, %d wanted", len(opened.Sigs), signatures))
	}
	lines := strings.Split(opened.Text, "\n")
	return tlog.Tree{N: must(strconv.ParseInt(lines[1], 10, 64)), Hash: must(tlog.ParseHash(lines[2]))}
}

func readHashes(lines []string) []tlog.Hash {
	hashes := []tlog.Hash{}
	for _, line := range lines {
		hashes = append(hashes, must(tlog.ParseHash(line)))
	}
	return hashes
}

func checkProof(file string, entries []string, keys note.Verifiers) {
	head, signed, _ := strings.Cut(file, "\n\n")
	lines := strings.Split(head, "\n")
	if lines[0] != "c2sp.org/tlog-proof@v1" {
		insist(fmt.Errorf("not a proof: %s", lines[0]))
	}
	index := must(strconv.ParseInt(strings.TrimPrefix(lines[1], "index "), 10, 64))
	tree := readTree(signed, 2, keys)
	leaf := tlog.RecordHash([]byte(entries[index]))
	insist(tlog.CheckRecord(readHashes(lines[2:]), tree.N, tree.Hash, index, leaf))
}

func main() {
	var input bytes.Buffer
	must(input.ReadFrom(os.Stdin))
	var all made
	insist(json.Unmarshal(input.Bytes(), &all))
	keys := note.VerifierList(must(note.NewVerifier(all.LogKey)), readWitness(all.WitnessKey))
	older, newer := readTree(all.Older, 1, keys), readTree(all.Newer, 2, keys)
	insist(tlog.CheckTree(readHashes(all.Consistency), newer.N, newer.Hash, older.N, older.Hash))
	for _, proof := range all.Proofs {
		checkProof(proof, all.Entries, keys)
	}
	fmt.Printf("accepted: %d proofs, from %d to %d\n", len(all.Proofs), older.N, newer.N)
}
