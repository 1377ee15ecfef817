//! JSON with a lie in it, spelled so that readers may disagree.

use super::lies::Place;
use super::random::Random;
use super::tricks::{DOCUMENT, Document, Draft, MEMBER, plain};
use super::{Hostile, Message};

/// A place in an API's JSON.
pub struct Scene {
    pub method: &'static str,
    pub path: &'static str,
    /// The other members, each with a comma behind it.
    pub others: &'static str,
    pub member: &'static str,
    pub place: Place,
    /// What stands around the object of these members: `@` is the object.
    pub around: &'static str,
    pub is_list: bool,
}

impl Scene {
    fn message(&self, body: Vec<u8>) -> Message {
        Message { method: self.method, path: self.path.into(), body, ..Message::default() }
    }

    /// Without a lie.
    pub fn honest(&self) -> Message {
        let value = self.listed(plain(&self.place.honest()));
        let text = format!("{{{}\"{}\":{value}}}", self.others, self.member);
        self.message(self.around.replace('@', &text).into())
    }

    fn listed(&self, value: String) -> String {
        if self.is_list { format!("[{value}]") } else { value }
    }

    /// With a lie, and with tricks in the member, in the document, in both or in neither.
    pub fn hostile(&self, random: &mut Random) -> (Hostile, Document) {
        let (mut what, value, lie) = self.place.lie(random, self.member);
        let mut draft = Draft {
            name: self.member,
            raw_name: self.member.into(),
            raw_value: self.listed(plain(&value)),
            value,
            honest: self.listed(plain(&self.place.honest())),
            before: String::new(),
            after: String::new(),
        };
        let (in_member, in_document) = match random.below(8) {
            0 => (false, false),
            1 | 2 => (false, true),
            3 => (true, true),
            _ => (true, false),
        };
        if in_member {
            let (trick, change) = random.pick(MEMBER);
            what = format!("{what} {trick}");
            change(&mut draft, random);
        }
        let Draft { raw_name, raw_value, before, after, .. } = draft;
        let member = format!("{before}\"{raw_name}\":{raw_value}{after}");
        let text = match random.one_in(2) {
            true => format!("{{{}{member}}}", self.others),
            false => format!("{{{member},{}}}", self.others.trim_end_matches(',')),
        };
        let text = if self.others.is_empty() { format!("{{{member}}}") } else { text };
        let mut document = Document {
            bytes: self.around.replace('@', &text).into_bytes(),
            types: vec!["application/json".into()],
            coding: None,
        };
        if in_document {
            let (trick, change) = random.pick(DOCUMENT);
            what = format!("{what} {trick}");
            change(&mut document, random);
        }
        let what = format!("{} {what}", self.member);
        (Hostile { what, lie, message: self.message(Vec::new()) }, document)
    }
}
