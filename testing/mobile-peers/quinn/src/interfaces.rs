//! The client's interfaces, as standard input describes them.

use std::net::IpAddr;

use serde_json::Value;

pub struct Interfaces(Vec<Interface>);

struct Interface {
    address: IpAddr,
    is_up: bool,
}

impl Interfaces {
    pub fn new(sources: &[IpAddr]) -> Self {
        Self(sources.iter().map(|address| Interface { address: *address, is_up: true }).collect())
    }

    /// The address from which a datagram leaves: the first that is up, as by the kernel's routes.
    pub fn route(&self) -> IpAddr {
        self.0.iter().find(|it| it.is_up).unwrap_or(&self.0[0]).address
    }

    /// Takes a line; returns whether what is sent next has a new way.
    pub fn change(&mut self, line: &str) -> Result<bool, String> {
        let malformed = || format!("standard input: {line}");
        let value: Value = serde_json::from_str(line).map_err(|_| malformed())?;
        let index = value["interface"].as_u64().and_then(|it| usize::try_from(it).ok());
        let index = index.filter(|index| *index < self.0.len()).ok_or_else(malformed)?;
        let is_up = match value["state"].as_str() {
            Some("up") => true,
            Some("down") => false,
            _ => return Err(malformed()),
        };
        let before = self.0.iter().position(|it| it.is_up);
        self.0[index].is_up = is_up;
        if let (true, Some(address)) = (is_up, value["address"].as_str()) {
            self.0[index].address = address.parse().map_err(|_| malformed())?;
        }
        let after = self.0.iter().position(|it| it.is_up);
        Ok(after.is_some() && (before != after || after == Some(index)))
    }
}
