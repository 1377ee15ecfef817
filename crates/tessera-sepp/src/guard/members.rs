//! Which names of members and parameters the APIs of roaming have, and what each holds.
//!
//! `members.txt` is made by `scripts/sepp-members` from the OpenAPI files of 3GPP's TS 29.5xx. Names are compared
//! without case, `-` and `_`: `requesterPlmnList` of JSON is `requester-plmn-list` of a query, and some network
//! functions read JSON without case.

use std::sync::LazyLock;

use super::fields::{self, Field, Text, Whose};

/// The table as the script makes it.
pub(super) const TABLE: &str = include_str!("members.txt");

/// What a name means.
#[derive(Debug, Clone, Copy)]
pub(super) enum Key {
    Mcc,
    Mnc,
    /// `encBlockIndex`
    Block,
    /// Addresses of a network function.
    Addresses,
    Known(&'static Member),
    /// No API of roaming has it. It may be a URI to call back, by its end: `amfStatusUri`.
    Unknown {
        is_callback: bool,
    },
}

/// A name that an API of roaming has.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) text: Text,
    /// In requests and in responses; none if it has what is around it.
    pub(super) whose: Option<[Whose; 2]>,
    /// The names in its value are data.
    pub(super) is_map: bool,
}

/// The longest name that is known; a test holds it against the table.
const LONGEST: usize = 45;

/// By their letters, in order.
type OfLength = Vec<(Box<str>, Member)>;

static BY_LENGTH: LazyLock<[OfLength; LONGEST + 1]> = LazyLock::new(|| {
    let mut index = [const { Vec::new() }; LONGEST + 1];
    let mut put = |member: Member| {
        let name: Box<str> = fold(member.name).collect();
        let Some(of_length) = index.get_mut(name.len()) else { return };
        match of_length.binary_search_by(|(other, _): &(Box<str>, Member)| other.cmp(&name)) {
            Err(at) => of_length.insert(at, (name, member)),
            Ok(at) => of_length[at].1.merge(member),
        }
    };
    fields::FIELDS.iter().map(Member::from).for_each(&mut put);
    lines("member ").filter_map(Member::read).for_each(put);
    index
});

/// The lines of the table that begin so, without that.
pub(super) fn lines(start: &'static str) -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter_map(move |line| line.strip_prefix(start))
}

impl Member {
    /// `allowedPlmns network`, `dnnConfigurations - map`
    fn read(line: &'static str) -> Option<Self> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let (text, whose) = match words.next()? {
            // Whose network it is, `fields.rs` has: a test holds that it has all.
            "network" => (Text::Plmn, None),
            "amf" => (Text::Plain, Some([Whose::Sought, Whose::Found])),
            "area" => (Text::Plain, Some([Whose::Either, Whose::Anyone])),
            "subscriber" => (Text::Subscriber, None),
            "callback" => (Text::Callback, None),
            "uri" => (Text::Uri, None),
            "reference" => (Text::Reference, None),
            "host" => (Text::Host, Some([Whose::Either, Whose::Anyone])),
            "change" => (Text::Change, None),
            _ => (Text::Plain, None),
        };
        Some(Self { name, text, whose, is_map: words.next() == Some("map") })
    }

    /// Takes up what the same name is in another API. What was put first counts, unless it was nothing.
    fn merge(&mut self, other: Self) {
        self.is_map |= other.is_map;
        if self.text == Text::Plain && self.whose.is_none() {
            (self.text, self.whose) = (other.text, other.whose);
        } else if self.text == Text::Uri && other.text == Text::Callback {
            self.text = other.text;
        }
    }
}

impl From<&Field> for Member {
    fn from(field: &Field) -> Self {
        Self { name: field.name, text: field.text, whose: Some(field.whose), is_map: false }
    }
}

impl Key {
    pub(super) fn of(name: &str) -> Self {
        let mut buffer = [0; LONGEST];
        let mut len = 0;
        for letter in fold(name) {
            let Some(place) = buffer.get_mut(len) else { return Self::unknown(name) };
            *place = u8::try_from(letter).unwrap_or_default();
            len += 1;
        }
        let plain = &buffer[..len];
        match plain {
            b"mcc" => return Self::Mcc,
            b"mnc" => return Self::Mnc,
            b"encblockindex" => return Self::Block,
            b"ipv4addresses" | b"ipv6addresses" | b"ipendpoints" => return Self::Addresses,
            _ => {}
        }
        let of_length = BY_LENGTH.get(len).map_or(&[][..], Vec::as_slice);
        match of_length.binary_search_by(|(other, _)| other.as_bytes().cmp(plain)) {
            Ok(at) => Self::Known(&of_length[at].1),
            Err(_) => Self::unknown(name),
        }
    }

    fn unknown(name: &str) -> Self {
        const ENDS: [&str; 6] = ["uri", "url", "callback", "notifuris", "uris", "urls"];
        let name: String = fold(name).collect();
        Self::Unknown { is_callback: ENDS.iter().any(|end| name.ends_with(end)) }
    }
}

/// The letters that are compared.
fn fold(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|letter| !matches!(letter, '-' | '_')).map(fold_case)
}

/// Without case, as lenient readers compare: Go's encoding/json folds by Unicode, so that U+017F is an `s` and
/// U+212A a `k`.
pub(super) fn fold_case(letter: char) -> char {
    match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        letter => letter.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> &'static Member {
        match Key::of(name) {
            Key::Known(member) => member,
            other => panic!("{name} is {other:?}"),
        }
    }

    #[test]
    fn names_are_found_without_case_and_hyphens() {
        for name in ["requesterPlmnList", "requester-plmn-list", "REQUESTER_PLMN_LIST"] {
            assert_eq!(known(name).name, "requesterPlmnList");
        }
        assert!(matches!(Key::of("MCC"), Key::Mcc) && matches!(Key::of("mn-c"), Key::Mnc));
        assert_eq!(known("\u{17f}ervingNetworkName").name, "servingNetworkName");
        assert_eq!(known("callbac\u{212a}Reference").text, Text::Callback);
        assert!(matches!(Key::of("encBloc\u{212a}Index"), Key::Block));
        for (name, is_callback) in [
            ("m\u{e9}c", false),
            ("requesterPlmnLists", false),
            ("requesterPlmnList\0", false),
            ("x2NotifyUri", true),
            (&*format!("{}Uri", "x".repeat(100)), true),
        ] {
            let Key::Unknown { is_callback: found } = Key::of(name) else { panic!("{name}") };
            assert_eq!(found, is_callback, "{name}");
        }
    }

    #[test]
    fn every_name_of_the_table_is_found_and_its_line_is_read() {
        let kinds = [
            "network",
            "amf",
            "area",
            "subscriber",
            "callback",
            "uri",
            "reference",
            "host",
            "change",
            "-",
        ];
        let mut count = 0;
        for line in lines("member ") {
            let words: Vec<_> = line.split(' ').collect();
            assert!(kinds.contains(&words[1]) && words.len() <= 3, "{line}");
            assert!(!matches!(Key::of(words[0]), Key::Unknown { .. }), "{line}");
            count += 1;
        }
        assert!(count > 3_000, "{count}");
        let longest = lines("member ").map(|line| fold(line.split(' ').next().unwrap()).count());
        assert_eq!(longest.max(), Some(LONGEST));
    }

    #[test]
    fn whose_network_it_is_is_known_of_every_network() {
        for line in lines("member ").filter(|line| line.ends_with(" network")) {
            let name = line.split(' ').next().unwrap();
            assert!(known(name).whose.is_some(), "{name} is in no line of fields.rs");
        }
    }
}
