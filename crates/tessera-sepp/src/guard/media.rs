//! The media types of each API (`members.txt`).

use std::sync::LazyLock;

use super::context::Service;
use super::members::lines;
use crate::names::SERVICES;

/// A media type of bodies on N32-f.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    Json,
    Problem,
    Hal,
    Patch,
    MergePatch,
    Form,
    Multipart,
}

impl Media {
    const ALL: [Self; 7] = [
        Self::Json,
        Self::Problem,
        Self::Hal,
        Self::Patch,
        Self::MergePatch,
        Self::Form,
        Self::Multipart,
    ];

    /// Returns it as in a `content-type`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Problem => "application/problem+json",
            Self::Hal => "application/3gppHal+json",
            Self::Patch => "application/json-patch+json",
            Self::MergePatch => "application/merge-patch+json",
            Self::Form => "application/x-www-form-urlencoded",
            Self::Multipart => "multipart/related",
        }
    }

    /// Reads a `content-type`, ignoring its parameters. JSON is UTF-8 (RFC 8259 §8.1), so a type with another charset
    /// is none of these.
    pub(super) fn of(content_type: &str) -> Option<Self> {
        let (kind, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
        let is_utf8 = parameters.split(';').all(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = value.trim().trim_matches('"');
            !name.trim().eq_ignore_ascii_case("charset") || value.eq_ignore_ascii_case("utf-8")
        });
        let kind = kind.trim();
        let found = Self::ALL.into_iter().find(|media| media.name().eq_ignore_ascii_case(kind));
        found.filter(|_| is_utf8)
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// For each service, the types of its requests and of its responses.
static BY_SERVICE: LazyLock<[[u8; 2]; SERVICES.len()]> = LazyLock::new(|| {
    let mut found = [[0; 2]; SERVICES.len()];
    for line in lines("api ") {
        let mut words = line.split(' ');
        let service =
            words.next().and_then(|name| SERVICES.iter().position(|known| *known == name));
        let Some(sides) = service.and_then(|service| found.get_mut(service)) else { continue };
        for (side, names) in sides.iter_mut().zip(words) {
            *side = names.split(',').filter_map(Media::of).fold(0, |set, media| set | media.bit());
        }
    }
    found
});

/// Returns whether a message of this service may have such a body.
pub(super) fn allows(service: Service, is_request: bool, media: Media) -> bool {
    // Any answer may be a problem or a redirection (TS 29.500 §5.2.7.2, §6.10.9).
    let is_answer = !is_request && matches!(media, Media::Json | Media::Problem);
    let by_table = match BY_SERVICE.get(service.index()).filter(|sides| **sides != [0; 2]) {
        Some(sides) => sides[usize::from(!is_request)] & media.bit() != 0,
        // Callbacks have the types of notifications; an API added by the operator may have those of all others.
        None => media != Media::Form,
    };
    is_answer || by_table
}

/// Returns whether a part of a multipart body may have this type; JSON is not among them.
pub(super) fn is_binary_part(content_type: &str) -> bool {
    let is_part =
        |known: &str| known != Media::Json.name() && known.eq_ignore_ascii_case(content_type);
    lines("part ").any(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_the_table_is_read() {
        for line in lines("api ") {
            let words: Vec<_> = line.split(' ').collect();
            assert!(SERVICES.contains(&words[0]) && words.len() == 3, "{line}");
            for name in words[1..].iter().flat_map(|names| names.split(',')) {
                assert!(name == "-" || Media::of(name).is_some(), "{name}");
            }
        }
        assert_eq!(lines("part ").count(), 6);
        assert!(
            is_binary_part("application/vnd.3gpp.5GNAS") && !is_binary_part("application/json")
        );
    }

    #[test]
    fn content_is_known_by_its_type() {
        assert_eq!(Media::of("application/json"), Some(Media::Json));
        assert_eq!(Media::of("Application/JSON; charset=utf-8"), Some(Media::Json));
        assert_eq!(Media::of("application/problem+json"), Some(Media::Problem));
        assert_eq!(Media::of("Multipart/Related; boundary=x"), Some(Media::Multipart));
        for text in
            ["text/plain", "application/json; charset=utf-16", "application/jsonx", "json", ""]
        {
            assert_eq!(Media::of(text), None, "{text}");
        }
    }

    #[test]
    fn each_api_has_its_own_types() {
        let service = |name: &str| Service::of(&format!("/{name}/v1"));
        assert!(allows(service("oauth2"), true, Media::Form));
        assert!(!allows(service("oauth2"), true, Media::Json));
        assert!(!allows(service("nnrf-nfm"), true, Media::Form));
        assert!(allows(service("nnrf-nfm"), true, Media::Patch));
        assert!(!allows(service("nudm-sdm"), true, Media::Patch));
        assert!(allows(service("nsmf-pdusession"), true, Media::Multipart));
        assert!(!allows(service("nudm-sdm"), false, Media::Multipart));
        assert!(allows(service("nsmf-callback"), true, Media::Multipart));
        assert!(!allows(service("nsmf-callback"), true, Media::Form));
        assert!(allows(service("nnssf-nsselection"), false, Media::Problem));
    }
}
