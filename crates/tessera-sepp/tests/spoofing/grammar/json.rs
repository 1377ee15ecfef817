//! JSON with a lie, spelled so that readers may disagree.

use super::lies::Place;
use super::random::Random;
use super::tricks::{DOCUMENT, Document, Draft, MEMBER, plain};
use super::{HostileMessage, Lie, Message};

/// A place in an API's JSON.
pub struct Scene {
    pub method: &'static str,
    pub path: &'static str,
    /// The other members, each followed by a comma.
    pub others: &'static str,
    pub member: &'static str,
    pub place: Place,
    /// What surrounds the object of these members: `@` is the object.
    pub around: &'static str,
    pub is_list: bool,
}

impl Scene {
    fn message(&self, body: Vec<u8>) -> Message {
        Message { method: self.method, path: self.path.into(), body, ..Message::default() }
    }

    /// Without a lie.
    pub fn honest(&self) -> Message {
        let value = listed(plain(&self.place.honest()), self.is_list);
        let text = format!("{{{}\"{}\":{value}}}", self.others, self.member);
        self.message(self.around.replace('@', &text).into())
    }

    /// With a lie, and with tricks in the member, in the document, in both or in neither.
    pub fn hostile(&self, random: &mut Random) -> (HostileMessage, Document) {
        let tricks = Tricks::pick(random);
        let (mut what, member, lie) = tricks.member(self.member, self.place, self.is_list, random);
        let text = match random.one_in(2) {
            true => format!("{{{}{member}}}", self.others),
            false => format!("{{{member},{}}}", self.others.trim_end_matches(',')),
        };
        let text = if self.others.is_empty() { format!("{{{member}}}") } else { text };
        let document = tricks.document(self.around.replace('@', &text), &mut what, random);
        (HostileMessage { what, lie, message: self.message(Vec::new()) }, document)
    }
}

fn listed(value: String, is_list: bool) -> String {
    if is_list { format!("[{value}]") } else { value }
}

/// Where a message has tricks.
pub struct Tricks {
    in_member: bool,
    in_document: bool,
}

impl Tricks {
    pub fn pick(random: &mut Random) -> Self {
        let (in_member, in_document) = match random.below(8) {
            0 => (false, false),
            1 | 2 => (false, true),
            3 => (true, true),
            _ => (true, false),
        };
        Self { in_member, in_document }
    }

    /// A member that lies.
    pub fn member(
        &self,
        name: &'static str,
        place: Place,
        is_list: bool,
        random: &mut Random,
    ) -> (Vec<String>, String, Lie) {
        let (mut what, value, lie) = place.lie(random, name);
        what.insert(0, name.into());
        let mut draft = Draft {
            name,
            takes_digits: place != Place::Anywhere,
            raw_name: name.into(),
            raw_value: listed(plain(&value), is_list),
            value,
            honest: listed(plain(&place.honest()), is_list),
            before: String::new(),
            after: String::new(),
        };
        if self.in_member {
            let (plain, names) = (draft.clone(), what.len());
            // Few tricks apply to every value: one that changes nothing doesn't count.
            while draft == plain {
                let (trick, change) = random.pick(MEMBER);
                change(&mut draft, random);
                what.truncate(names);
                what.push((*trick).into());
            }
        }
        let Draft { raw_name, raw_value, before, after, .. } = draft;
        (what, format!("{before}\"{raw_name}\":{raw_value}{after}"), lie)
    }

    pub fn document(&self, text: String, what: &mut Vec<String>, random: &mut Random) -> Document {
        let mut document = Document {
            bytes: text.into_bytes(),
            types: vec!["application/json".into()],
            coding: None,
        };
        if self.in_document {
            let (trick, change) = random.pick(DOCUMENT);
            change(&mut document, random);
            what.push((*trick).into());
        }
        document
    }
}
