/* Reads messages as network functions in C do, and prints what it finds (see mod.rs).
 *
 * A body that isn't multipart is JSON, whatever its type; cJSON reads it up to the first NUL, and names of members end
 * at one. Paths and queries are decoded as a whole, split, and decoded again, as open5gs does. Names of members are
 * compared without case, and each of several with one name is read: other functions than open5gs take the last. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

enum { MOST_NAMES = 4096, DEEPEST = 64 };

static char *names[MOST_NAMES];
static int name_count, message;

/* The names around a value, from the outside. */
static const char *around[DEEPEST];
static int depth;

/* The name as the API has it; NULL if no API of the corpus does. */
static const char *known(const char *name) {
    for (int i = 0; i < name_count; i++)
        if (strcasecmp(names[i], name) == 0) return names[i];
    return NULL;
}

static void push(const char *name) {
    if (depth < DEEPEST) around[depth] = known(name);
    depth++;
}

static void found(const char *kind, const char *value) {
    for (int i = 0; i < depth && i < DEEPEST; i++) {
        if (!around[i]) continue;
        printf("%d %s %s ", message, around[i], kind);
        for (const char *byte = value; *byte; byte++) {
            if (isalnum((unsigned char)*byte) || strchr("-.:", *byte)) putchar(tolower((unsigned char)*byte));
            else printf("%%%02x", (unsigned char)*byte);
        }
        putchar('\n');
    }
}

static int digits(const char *text) { return (int)strspn(text, "0123456789"); }

static void network(const char *mcc, const char *mnc) {
    char value[8];
    if (strlen(mcc) != 3 || digits(mcc) != 3 || digits(mnc) != (int)strlen(mnc)) return;
    if (strlen(mnc) != 2 && strlen(mnc) != 3) return;
    snprintf(value, sizeof value, "%s-%s%s", mcc, strlen(mnc) == 2 ? "0" : "", mnc);
    found("network", value);
}

/* A host as the resolver takes it: numbers in any form are addresses. */
static void host(const char *begin, size_t length) {
    char text[256], value[256];
    struct in_addr four;
    struct in6_addr six;
    if (length >= sizeof text) return;
    memcpy(text, begin, length);
    text[length] = 0;
    char *scope = strchr(text, '%');
    if (inet_aton(text, &four)) inet_ntop(AF_INET, &four, value, sizeof value);
    else {
        if (scope) *scope = 0;
        if (inet_pton(AF_INET6, text, &six) == 1) inet_ntop(AF_INET6, &six, value, sizeof value);
        else {
            if (scope) *scope = '%';
            strcpy(value, text);
        }
    }
    found("host", value);
}

static void authority(const char *text) {
    size_t length = strcspn(text, "/?#");
    /* User information ends at the first `@` to open5gs, and at the last to curl. */
    const char *first = memchr(text, '@', length), *last = memrchr(text, '@', length);
    const char *starts[] = {first ? first + 1 : text, last ? last + 1 : text};
    for (int i = 0; i < 2; i++) {
        const char *start = starts[i];
        size_t left = (size_t)(text + length - start);
        const char *end = *start == '[' ? memchr(start, ']', left) : memchr(start, ':', left);
        if (*start == '[') start++, left--;
        host(start, end && end > start ? (size_t)(end - start) : left);
    }
}

/* Where a client made with libcurl would connect to. It takes one to three slashes, and none with a scheme left out. */
static void curl(const char *text) {
    size_t scheme = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    const char *rest = text;
    if (scheme > 0 && text[scheme] == ':' && text[scheme + 1] == '/') rest = text + scheme + 1;
    rest += strspn(rest, "/");
    if (*rest) authority(rest);
    int is_http = scheme == 4 || scheme == 5 ? strncasecmp(text, "https", scheme) == 0 : 0;
    if (scheme > 1 && text[scheme] == ':' && !is_http) {
        char value[32];
        snprintf(value, sizeof value, "%.*s:", (int)(scheme < 30 ? scheme : 30), text);
        found("host", value);
    }
}

static char *decoded(const char *text);

/* More lenient clients leave out what browsers leave out, take `\\` for `/`, and decode the host. */
static void uri(const char *text) {
    curl(text);
    text += strspn(text, "\001\002\003\004\005\006\007\010\t\n\v\f\r\016\017\020\021\022\023\024\025\026\027\030\031\032\033\034\035\036\037 ");
    char *plain = strdup(text), *to = plain;
    for (; *text; text++)
        if (!strchr("\t\n\r", *text)) *to++ = *text == '\\' ? '/' : *text;
    *to = 0;
    curl(plain);
    curl(decoded(plain));
    size_t scheme = strncasecmp(plain, "http", 4) != 0 ? 0 : tolower((unsigned char)plain[4]) == 's' ? 5 : 4;
    if (scheme && plain[scheme] == ':') curl(plain + scheme + 1);
}

static void token(const char *value);

static void text(const char *text) {
    size_t length = strlen(text);
    int count = digits(text);
    char mcc[4] = "", mnc[4] = "";
    if (count == (int)length && (count == 5 || count == 6)) {
        memcpy(mcc, text, 3);
        strcpy(mnc, text + 3);
        network(mcc, mnc);
    }
    if (count == 3 && text[3] == '-') {
        int second = digits(text + 4);
        memcpy(mcc, text, 3);
        if (second == 2 || second == 3) network(mcc, memcpy(mnc, text + 4, (size_t)second));
    }
    for (const char *at = text; (at = strcasestr(at, "mnc")); at++)
        if (digits(at + 3) == 3 && strncasecmp(at + 6, ".mcc", 4) == 0 && digits(at + 10) >= 3) {
            memcpy(mcc, at + 10, 3);
            network(mcc, memcpy(mnc, at + 3, 3));
        }
    if (strncasecmp(text, "imsi-", 5) == 0) found("subscriber", text + 5);
    if (strncasecmp(text, "5g-guti-", 8) == 0) found("subscriber", text + 8);
    if (strncasecmp(text, "suci-0-", 7) == 0) {
        char value[64] = "";
        const char *from = text + 7;
        for (size_t at = 0; *from && at < sizeof value - 1; from++)
            if (*from != '-') value[at++] = *from;
        found("subscriber", value);
    }
    token(text);
    uri(text);
}

/* What a patch or a report of changes puts somewhere has the name of its place. */
static const char *place(const cJSON *object) {
    const cJSON *path = cJSON_GetObjectItem(object, "path");
    if (!cJSON_IsString(path)) return NULL;
    const char *name = NULL;
    for (const char *at = path->valuestring; (at = strchr(at, '/')); at++)
        if (at[1] && !isdigit((unsigned char)at[1]) && at[1] != '-') name = at + 1;
    return name;
}

static void walk(const cJSON *value) {
    if (cJSON_IsString(value)) text(value->valuestring);
    if (cJSON_IsObject(value)) {
        const cJSON *mcc, *mnc;
        cJSON_ArrayForEach(mcc, value) cJSON_ArrayForEach(mnc, value) {
            if (cJSON_IsString(mcc) && cJSON_IsString(mnc) && strcasecmp(mcc->string, "mcc") == 0 &&
                strcasecmp(mnc->string, "mnc") == 0)
                network(mcc->valuestring, mnc->valuestring);
        }
    }
    const cJSON *inner;
    const char *name = cJSON_IsObject(value) ? place(value) : NULL;
    cJSON_ArrayForEach(inner, value) {
        int before = depth;
        if (inner->string) push(inner->string);
        if (name && strcasestr(inner->string, "value")) {
            char *copy = strdupa(name);
            copy[strcspn(copy, "/")] = 0;
            push(copy);
        }
        walk(inner);
        depth = before;
    }
}

/* RFC 6902 on members and items of lists; as cJSONUtils_ApplyPatches, which knows no case. */
static cJSON *step(cJSON *from, const char *token) {
    if (cJSON_IsArray(from)) return cJSON_GetArrayItem(from, atoi(token));
    return cJSON_GetObjectItem(from, token);
}

/* The value around a pointer's end, and the last token; NULL if there is none. */
static cJSON *reach(cJSON *from, char *pointer, char **last) {
    *last = NULL;
    char *state, *token = strtok_r(pointer, "/", &state), *next;
    for (; token; token = next) {
        char *to = token;
        for (char *byte = token; *byte; byte++) *to++ = *byte != '~' ? *byte : *++byte == '1' ? '/' : '~';
        *to = 0;
        next = strtok_r(NULL, "/", &state);
        *last = token;
        if (next && !(from = step(from, token))) return NULL;
    }
    return from;
}

static void put(cJSON *parent, const char *token, cJSON *value, int replaces) {
    if (cJSON_IsArray(parent)) {
        int index = digits(token) ? atoi(token) : cJSON_GetArraySize(parent);
        if (replaces) cJSON_DeleteItemFromArray(parent, index);
        cJSON_InsertItemInArray(parent, index, value);
    } else {
        cJSON_DeleteItemFromObject(parent, token);
        cJSON_AddItemToObject(parent, token, value);
    }
}

static cJSON *patched(cJSON *resource, const cJSON *operations) {
    const cJSON *operation;
    cJSON_ArrayForEach(operation, operations) {
        const cJSON *op = cJSON_GetObjectItem(operation, "op"), *path = cJSON_GetObjectItem(operation, "path");
        const cJSON *from = cJSON_GetObjectItem(operation, "from");
        cJSON *value = cJSON_Duplicate(cJSON_GetObjectItem(operation, "value"), 1);
        if (!cJSON_IsString(op) || !cJSON_IsString(path)) continue;
        char *last, *end;
        if (cJSON_IsString(from)) {
            cJSON *source = reach(resource, strdup(from->valuestring), &end);
            cJSON *moved = source && end ? step(source, end) : source;
            if (!moved) continue;
            value = cJSON_Duplicate(moved, 1);
            if (strcasecmp(op->valuestring, "move") == 0 && end && cJSON_IsObject(source))
                cJSON_DeleteItemFromObject(source, end);
        }
        if (!value) continue;
        cJSON *parent = reach(resource, strdup(path->valuestring), &last);
        if (parent && last) put(parent, last, value, strcasecmp(op->valuestring, "replace") == 0);
        else if (!last) resource = value;
    }
    return resource;
}

static void json(const char *text, const char *base) {
    cJSON *value = cJSON_Parse(text);
    if (!value) return;
    walk(value);
    if (!base) return;
    if (cJSON_IsArray(value)) walk(patched(cJSON_Parse(base), value));
}

/* Up to a NUL, as texts end in C. */
static char *decoded(const char *text) {
    char *out = strdup(text), *to = out;
    for (; *text; text++) {
        if (*text == '%' && text[1] && text[2]) {
            char pair[] = {text[1], text[2], 0};
            *to++ = (char)strtol(pair, NULL, 16);
            text += 2;
        } else *to++ = *text == '+' ? ' ' : *text;
    }
    *to = 0;
    return out;
}

/* A parameter's value, or a header's: JSON, or texts with commas between them. */
static void parameter(const char *name, const char *value) {
    int before = depth;
    push(name);
    json(value, NULL);
    char *state, *list = strdup(value);
    text(value);
    for (char *item = strtok_r(list, " \t,;\"'<>()=", &state); item; item = strtok_r(NULL, " \t,;\"'<>()=", &state))
        text(item);
    depth = before;
}

static void pairs(char *all, const char *between) {
    char *state;
    for (char *pair = strtok_r(all, between, &state); pair; pair = strtok_r(NULL, between, &state)) {
        char *value = strchr(pair, '=');
        if (!value) continue;
        *value++ = 0;
        char *name = decoded(pair);
        parameter(name, value);
        for (int layer = 0; layer < 3 && strchr(value, '%'); layer++) parameter(name, value = decoded(value));
    }
}

static void query(const char *encoded) {
    pairs(decoded(encoded), "&");
    /* As HTML 4 advises. */
    pairs(strdup(encoded), "&;");
}

static void path(const char *whole) {
    char *state, *copy = strdup(whole), *rest = strchr(copy, '?');
    if (rest) {
        *rest++ = 0;
        char *end = strpbrk(rest, "?#");
        if (end) *end = 0;
        query(rest);
    }
    for (int layer = 0; layer < 3; layer++) {
        copy = decoded(copy);
        char *plain = strdup(copy);
        for (char *part = strtok_r(plain, "/\\", &state); part; part = strtok_r(NULL, "/\\", &state))
            parameter("path", part);
    }
}

/* The claims of a token: base64 in any alphabet. */
static void token(const char *value) {
    const char *middle = strchr(value, '.');
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (!middle) return;
    char *out = calloc(1, strlen(middle)), *to = out;
    unsigned bits = 0, count = 0;
    for (middle++; *middle && *middle != '.'; middle++) {
        char letter = *middle == '-' ? '+' : *middle == '_' ? '/' : *middle;
        const char *at = strchr(plain, letter);
        if (!at) continue;
        bits = bits << 6 | (unsigned)(at - plain);
        count += 6;
        if (count >= 8) *to++ = (char)(bits >> (count -= 8));
    }
    json(out, NULL);
}

static void header(const char *name, const char *value) {
    char *folded = strdup(name);
    for (char *byte = folded; *byte; byte++)
        if (*byte == '_') *byte = '-';
    parameter(folded, value);
    if (strchr(value, '%')) parameter(folded, decoded(value));
}

/* Parts behind the first line, which is the boundary. */
static void multipart(const char *body, size_t length) {
    const char *end = body + length;
    if (length > 2 && memcmp(body, "\r\n", 2) == 0) body += 2;
    const char *line = memmem(body, (size_t)(end - body), "\r\n", 2);
    if (!line) return;
    size_t size = (size_t)(line - body);
    char *boundary = memcpy(calloc(1, size + 3), "\r\n", 2);
    memcpy(boundary + 2, body, size);
    while (line && line < end) {
        const char *content = memmem(line, (size_t)(end - line), "\r\n\r\n", 4);
        if (!content) return;
        content += 4;
        const char *next = memmem(content - 2, (size_t)(end - content + 2), boundary, size + 2);
        const char *stop = next ? next : end;
        if (stop > content) json(strndup(content, (size_t)(stop - content)), NULL);
        line = next ? next + size + 2 : NULL;
    }
}

static void body(const char *type, const char *bytes, size_t length, const char *base) {
    if (strncasecmp(type, "multipart/", 10) == 0 || strncmp(bytes, "--", 2) == 0) multipart(bytes, length);
    else json(bytes, base);
    /* Where tokens are given, whatever its type. */
    query(bytes);
}

static char *unhexed(const char *hex, size_t *length) {
    size_t size = hex ? strlen(hex) / 2 : 0;
    char *out = calloc(1, size + 1);
    for (size_t i = 0; i < size; i++) {
        char pair[] = {hex[2 * i], hex[2 * i + 1], 0};
        out[i] = (char)strtol(pair, NULL, 16);
    }
    if (length) *length = size;
    return out;
}

int main(void) {
    char *line = NULL, *type = "", *base = NULL;
    size_t size = 0, length;
    fprintf(stderr, "begins\n");
    while (getline(&line, &size, stdin) > 0) {
        char *state, *word = strtok_r(line, " \n", &state);
        char *first = strtok_r(NULL, " \n", &state), *second = strtok_r(NULL, " \n", &state);
        if (!word) continue;
        if (strcmp(word, "name") == 0 && name_count < MOST_NAMES) names[name_count++] = strdup(first);
        if (strcmp(word, "message") == 0) message = atoi(first), type = "", base = NULL;
        if (strcmp(word, "path") == 0) path(unhexed(first, NULL));
        if (strcmp(word, "resource") == 0) base = unhexed(first, NULL);
        if (strcmp(word, "header") == 0) {
            char *name = unhexed(first, NULL), *value = unhexed(second, NULL);
            if (strcmp(name, "content-type") == 0) type = value;
            header(name, value);
        }
        if (strcmp(word, "body") == 0) {
            char *bytes = unhexed(first, &length);
            body(type, bytes, length, base);
        }
    }
    /* What is read once is kept until here. */
    return 0;
}
