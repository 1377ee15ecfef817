// Reads messages as network functions in Go do, and prints what it finds (see mod.rs).
//
// encoding/json finds the fields of a struct without case, merges what comes twice into the same field, and keeps
// every member of a map as it is; net/url and mime/multipart read the rest.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/netip"
	"net/url"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	names   []string
	object  reflect.Type
	message string
	out     = bufio.NewWriter(os.Stdout)
)

// The place of a value: the names around it.
type place []string

func (p place) in(name string) place { return append(p[:len(p):len(p)], name) }

func (p place) found(kind, value string) {
	for _, around := range p {
		for _, name := range names {
			if strings.EqualFold(name, around) {
				fmt.Fprintf(out, "%s %s %s %s\n", message, name, kind, strings.ReplaceAll(url.PathEscape(strings.ToLower(value)), "%3A", ":"))
			}
		}
	}
}

func (p place) network(mcc, mnc string) {
	code := regexp.MustCompile(`^[0-9]{3}-[0-9]{2,3}$`)
	if !code.MatchString(mcc + "-" + mnc) {
		return
	}
	if len(mnc) == 2 {
		mnc = "0" + mnc
	}
	p.found("network", mcc+"-"+mnc)
}

var (
	plain      = regexp.MustCompile(`^([0-9]{3})-?([0-9]{2,3})(-[0-9A-Fa-f]+)?$`)
	name       = regexp.MustCompile(`(?i)mnc([0-9]{3})\.mcc([0-9]{3})`)
	subscriber = regexp.MustCompile(`(?i)^(imsi-|suci-0-|5g-guti-)(.*)`)
)

func (p place) text(text string) {
	if codes := plain.FindStringSubmatch(text); codes != nil {
		p.network(codes[1], codes[2])
	}
	for _, codes := range name.FindAllStringSubmatch(text, -1) {
		p.network(codes[2], codes[1])
	}
	if parts := subscriber.FindStringSubmatch(text); parts != nil {
		p.found("subscriber", strings.ReplaceAll(parts[2], "-", ""))
	}
	p.token(text)
	base := &url.URL{Scheme: "http", Host: "base.invalid", Path: "/"}
	// With a scheme put in front where one is missing, as many programs do.
	for _, text := range []string{text, "http://" + text} {
		reference, err := url.Parse(text)
		if err != nil {
			continue
		}
		host := base.ResolveReference(reference).Hostname()
		if address, err := netip.ParseAddr(host); err == nil {
			host = address.WithZone("").String()
		}
		if host != "" && host != "base.invalid" {
			p.found("host", host)
		}
		if reference.Scheme != "" && reference.Scheme != "http" && reference.Scheme != "https" {
			p.found("host", reference.Scheme+":")
		}
	}
}

// The claims of a token.
func (p place) token(text string) {
	for _, part := range strings.Split(text, ".") {
		for _, alphabet := range []*base64.Encoding{base64.RawURLEncoding, base64.RawStdEncoding} {
			claims, err := alphabet.DecodeString(strings.TrimRight(part, "="))
			if err == nil && bytes.ContainsRune(claims, '{') {
				readJSON(p, claims, nil)
			}
		}
	}
}

// Any value in a field of a struct: what comes twice goes into the same one.
type field struct {
	texts  []string
	object any
	list   []*field
}

func (f *field) UnmarshalJSON(text []byte) error {
	switch text[0] {
	case '"':
		var plain string
		if err := json.Unmarshal(text, &plain); err != nil {
			return err
		}
		f.texts = append(f.texts, plain)
	case '{':
		if f.object == nil {
			f.object = reflect.New(object).Interface()
		}
		return json.Unmarshal(text, f.object)
	case '[':
		var items []*field
		err := json.Unmarshal(text, &items)
		f.list = append(f.list, items...)
		return err
	}
	return nil
}

func (f *field) walk(p place) {
	for _, text := range f.texts {
		p.text(text)
	}
	for _, item := range f.list {
		if item != nil {
			item.walk(p)
		}
	}
	if f.object != nil {
		fields := reflect.ValueOf(f.object).Elem()
		member := func(name string) *field {
			found, _ := fields.FieldByName(name).Interface().(field)
			return &found
		}
		for _, mcc := range member("Mcc").texts {
			for _, mnc := range member("Mnc").texts {
				p.network(mcc, mnc)
			}
		}
		for index := range fields.NumField() {
			inner := fields.Field(index).Interface().(field)
			inner.walk(p.in(fields.Type().Field(index).Tag.Get("json")))
		}
	}
}

func walk(p place, value any) {
	switch value := value.(type) {
	case string:
		p.text(value)
	case []any:
		for _, item := range value {
			walk(p, item)
		}
	case map[string]any:
		for first, mcc := range value {
			for second, mnc := range value {
				mcc, isText := mcc.(string)
				mnc, isToo := mnc.(string)
				if isText && isToo && strings.EqualFold(first, "mcc") && strings.EqualFold(second, "mnc") {
					p.network(mcc, mnc)
				}
			}
		}
		pointer, _ := value["path"].(string)
		for name, inner := range value {
			p := p.in(name)
			// What a patch or a report of changes puts somewhere has the name of its place.
			if strings.HasSuffix(strings.ToLower(name), "value") {
				for _, token := range strings.Split(pointer, "/") {
					p = p.in(token)
				}
			}
			walk(p, inner)
		}
	}
}

func readJSON(p place, text []byte, resource any) {
	typed := &field{}
	if json.NewDecoder(bytes.NewReader(text)).Decode(typed) == nil {
		typed.walk(p)
	}
	// A decoder reads the first value of several.
	var value any
	if json.NewDecoder(bytes.NewReader(text)).Decode(&value) != nil {
		return
	}
	walk(p, value)
	if operations, isPatch := value.([]any); isPatch && resource != nil {
		walk(p, patched(resource, operations))
	}
}

// RFC 6902 on members and items of lists.
func patched(resource any, operations []any) any {
	for _, operation := range operations {
		operation, _ := operation.(map[string]any)
		op, _ := operation["op"].(string)
		to, _ := operation["path"].(string)
		value := operation["value"]
		if from, isText := operation["from"].(string); isText {
			value = get(resource, tokens(from))
			if strings.EqualFold(op, "move") {
				resource = put(resource, tokens(from), nil)
			}
		}
		if value != nil {
			resource = put(resource, tokens(to), value)
		}
	}
	return resource
}

func tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	found := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for index, token := range found {
		found[index] = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
	}
	return found
}

func get(from any, tokens []string) any {
	for _, token := range tokens {
		switch around := from.(type) {
		case map[string]any:
			from = around[token]
		case []any:
			index, err := strconv.Atoi(token)
			if err != nil || index < 0 || index >= len(around) {
				return nil
			}
			from = around[index]
		default:
			return nil
		}
	}
	return from
}

func put(around any, tokens []string, value any) any {
	if len(tokens) == 0 {
		return value
	}
	switch around := around.(type) {
	case map[string]any:
		changed := map[string]any{}
		for name, inner := range around {
			changed[name] = inner
		}
		changed[tokens[0]] = put(around[tokens[0]], tokens[1:], value)
		return changed
	case []any:
		index, err := strconv.Atoi(tokens[0])
		if err != nil || index < 0 || index >= len(around) {
			return append(around[:len(around):len(around)], put(nil, tokens[1:], value))
		}
		if len(tokens) == 1 {
			return slices.Insert(slices.Clone(around), index, value)
		}
		changed := slices.Clone(around)
		changed[index] = put(around[index], tokens[1:], value)
		return changed
	}
	if len(tokens) == 1 {
		return map[string]any{tokens[0]: value}
	}
	return around
}

func parameter(p place, value string) {
	readJSON(p, []byte(value), nil)
	p.text(value)
	for _, item := range strings.FieldsFunc(value, func(letter rune) bool { return strings.ContainsRune(" \t,;\"'<>()=", letter) }) {
		p.text(item)
	}
}

func query(text string) {
	values, _ := url.ParseQuery(text)
	for name, values := range values {
		for _, value := range values {
			parameter(place{name}, value)
			if again, err := url.QueryUnescape(value); err == nil && again != value {
				parameter(place{name}, again)
			}
		}
	}
}

func readPath(text string) {
	target, err := url.ParseRequestURI(text)
	if err != nil {
		return
	}
	query(target.RawQuery)
	for _, plain := range []string{target.Path, path.Clean(target.Path)} {
		for _, segment := range strings.Split(plain, "/") {
			parameter(place{"path"}, segment)
			if again, err := url.PathUnescape(segment); err == nil && again != segment {
				parameter(place{"path"}, again)
			}
		}
	}
}

func header(name, value string) {
	p := place{strings.ReplaceAll(name, "_", "-")}
	parameter(p, value)
	if again, err := url.PathUnescape(value); err == nil && again != value {
		parameter(p, again)
	}
}

func body(contentType string, content []byte, resource any) {
	kind, parameters, err := mime.ParseMediaType(contentType)
	if err == nil && strings.HasPrefix(kind, "multipart/") {
		reader := multipart.NewReader(bytes.NewReader(content), parameters["boundary"])
		for {
			part, err := reader.NextPart()
			if err != nil {
				return
			}
			inner, _ := io.ReadAll(part)
			readJSON(nil, inner, nil)
		}
	}
	readJSON(nil, content, resource)
	// Where tokens are given, whatever its type.
	query(string(content))
}

func main() {
	defer out.Flush()
	fmt.Fprintln(os.Stderr, "begins")
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<26)
	fields := []reflect.StructField{}
	add := func(member, name string) {
		tag := reflect.StructTag(`json:"` + name + `"`)
		fields = append(fields, reflect.StructField{Name: member, Type: reflect.TypeFor[field](), Tag: tag})
	}
	add("Mcc", "mcc")
	add("Mnc", "mnc")
	contentType, resource := "", any(nil)
	for input.Scan() {
		words := strings.Split(input.Text(), " ")
		texts := []string{}
		for _, word := range words[1:] {
			text, _ := hex.DecodeString(word)
			texts = append(texts, string(text))
		}
		switch words[0] {
		case "name":
			names = append(names, words[1])
			add(fmt.Sprint("F", len(fields)), words[1])
			object = reflect.StructOf(fields)
		case "message":
			message, contentType, resource = words[1], "", nil
		case "path":
			readPath(texts[0])
		case "resource":
			_ = json.Unmarshal([]byte(texts[0]), &resource)
		case "header":
			if texts[0] == "content-type" {
				contentType = texts[1]
			}
			header(texts[0], texts[1])
		case "body":
			body(contentType, []byte(texts[0]), resource)
		}
	}
}
