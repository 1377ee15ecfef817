//! A network whose nodes and links have names.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::process::{Child, Command};
use std::thread::JoinHandle;
use std::{io, mem};

use crate::Link;
use crate::error::LinkError;
use crate::network::{Network, Node};
use crate::parameters::{End, LinkKind, LinkParameters};

/// A graph of named nodes, which lives until it is dropped.
///
/// As in every [`Network`], nothing is forwarded from one link to another: nodes that need to communicate must be
/// joined, and reach each other at the addresses of the link between them.
///
/// ```no_run
/// use std::process::Command;
/// use std::time::Duration;
/// use tessera_link::{LinkKind, LinkParameters, Mesh};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let far = |ms| LinkParameters { rtt: Duration::from_millis(ms), ..LinkParameters::default() };
/// let mesh = Mesh::open(
///     LinkKind::Tun,
///     &["seoul", "tokyo", "los-angeles"],
///     &[("seoul", "tokyo", far(33)), ("seoul", "los-angeles", far(134))],
/// )?;
/// let server = mesh.spawn("tokyo", Command::new("my-server"))?;
/// println!("seoul connects to {}", mesh.address("tokyo", "seoul")?);
/// mesh.link("seoul", "tokyo")?.set(&far(50))?;
/// # drop(server);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Mesh {
    /// Dropped before the nodes: the threads that carry packets end first.
    links: Vec<NamedLink>,
    nodes: BTreeMap<String, Node>,
    network: Network,
}

/// A link, and the nodes at its ends.
#[derive(Debug)]
struct NamedLink {
    client: String,
    server: String,
    link: Link,
}

impl Mesh {
    /// Makes all nodes, and the links between them.
    ///
    /// The first node of a link is its [`End::Client`], the second its [`End::Server`]; either may connect.
    ///
    /// # Errors
    ///
    /// - [`LinkError::Mesh`] if a name is empty or occurs twice, if an end of a link is no node or both are the same
    ///   one, or if two nodes are joined twice.
    /// - [`LinkError::NoEmulation`] if the mesh is or becomes one of loopback links and a link's parameters
    ///   are not [plain](LinkParameters::is_plain).
    /// - Otherwise as for [`Network::open`], [`Network::node`] and [`Network::join`].
    pub fn open(
        kind: LinkKind,
        nodes: &[&str],
        links: &[(&str, &str, LinkParameters)],
    ) -> Result<Self, LinkError> {
        check(nodes, links)?;
        let network = Network::open(kind)?;
        let plain = links.iter().all(|(_, _, parameters)| parameters.is_plain());
        if network.kind() == LinkKind::Loopback && !plain {
            let reason = network.into_fallback_reason().map(Box::new);
            return Err(LinkError::NoEmulation { reason });
        }
        let mut mesh = Self { links: Vec::new(), nodes: BTreeMap::new(), network };
        for name in nodes {
            mesh.nodes.insert((*name).to_owned(), mesh.network.node(name)?);
        }
        for (client, server, parameters) in links {
            let link = mesh.network.join(mesh.node(client)?, mesh.node(server)?, parameters)?;
            let (client, server) = ((*client).to_owned(), (*server).to_owned());
            mesh.links.push(NamedLink { client, server, link });
        }
        Ok(mesh)
    }

    /// Returns the kind of its links: [`LinkKind::Tun`] or [`LinkKind::Loopback`].
    #[must_use]
    pub fn kind(&self) -> LinkKind {
        self.network.kind()
    }

    /// Returns why [`LinkKind::Auto`] became loopback links, if it did.
    #[must_use]
    pub fn fallback_reason(&self) -> Option<&LinkError> {
        self.network.fallback_reason()
    }

    /// Returns the node with this name.
    ///
    /// # Errors
    ///
    /// [`LinkError::Mesh`] if there is none.
    pub fn node(&self, name: &str) -> Result<&Node, LinkError> {
        self.nodes.get(name).ok_or_else(|| self.no_node(name))
    }

    /// Returns the link between two nodes, in either order.
    ///
    /// [`Mesh::end`] returns which node is at which end.
    ///
    /// # Errors
    ///
    /// [`LinkError::Mesh`] if there is none.
    pub fn link(&self, one: &str, other: &str) -> Result<&Link, LinkError> {
        self.find(one, other).map(|named| &named.link)
    }

    /// Returns the end at which the first of two joined nodes is.
    ///
    /// # Errors
    ///
    /// [`LinkError::Mesh`] if there is no such link.
    pub fn end(&self, node: &str, towards: &str) -> Result<End, LinkError> {
        let is_client = self.find(node, towards)?.client == node;
        Ok(if is_client { End::Client } else { End::Server })
    }

    /// Returns the address at which the node `from` reaches the node `of`, which a link joins with it.
    ///
    /// It does not change while the mesh lives; a node has a separate address for each of its links.
    ///
    /// # Errors
    ///
    /// [`LinkError::Mesh`] if there is no link between the two.
    pub fn address(&self, of: &str, from: &str) -> Result<IpAddr, LinkError> {
        Ok(self.link(of, from)?.addresses().of(self.end(of, from)?))
    }

    /// Starts a process at a node.
    ///
    /// # Errors
    ///
    /// As for [`Command::spawn`], and [`io::ErrorKind::Other`] with the reason if there is no such node.
    pub fn spawn(&self, node: &str, command: Command) -> io::Result<Child> {
        self.node(node).map_err(io::Error::other)?.spawn(command)
    }

    /// Starts a thread of this process at a node: sockets that it makes stay there.
    ///
    /// # Errors
    ///
    /// As for [`Mesh::spawn`].
    pub fn spawn_thread<T: Send + 'static>(
        &self,
        node: &str,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        self.node(node).map_err(io::Error::other)?.spawn_thread(body)
    }

    /// Returns all links in their original order: the node at the client's end, the one at the server's, and the link.
    pub fn links(&self) -> impl Iterator<Item = (&str, &str, &Link)> {
        self.links.iter().map(|named| (&*named.client, &*named.server, &named.link))
    }

    fn find(&self, one: &str, other: &str) -> Result<&NamedLink, LinkError> {
        let wanted = pair(one, other);
        let found = self.links.iter().find(|named| pair(&named.client, &named.server) == wanted);
        found.ok_or_else(|| {
            let unknown = [one, other].into_iter().find(|name| !self.nodes.contains_key(*name));
            unknown.map_or_else(
                || LinkError::Mesh(format!("no link joins {one} and {other}")),
                |name| self.no_node(name),
            )
        })
    }

    fn no_node(&self, name: &str) -> LinkError {
        let known: Vec<_> = self.nodes.keys().map(String::as_str).collect();
        LinkError::Mesh(format!("no node is named {name}; the nodes are {}", known.join(", ")))
    }
}

/// Rejects impossible graphs before it makes anything.
fn check(nodes: &[&str], links: &[(&str, &str, LinkParameters)]) -> Result<(), LinkError> {
    let wrong = |what: String| Err(LinkError::Mesh(what));
    for (i, name) in nodes.iter().enumerate() {
        if name.is_empty() {
            return wrong("a node needs a name".to_owned());
        }
        if nodes[..i].contains(name) {
            return wrong(format!("two nodes are named {name}"));
        }
    }
    for (i, (one, other, parameters)) in links.iter().enumerate() {
        parameters.validate()?;
        if one == other {
            return wrong(format!("a link joins {one} with itself"));
        }
        if let Some(name) = [one, other].into_iter().find(|name| !nodes.contains(name)) {
            return wrong(format!("a link ends at {name}, which is not a node"));
        }
        if links[..i].iter().any(|(a, b, _)| pair(a, b) == pair(one, other)) {
            return wrong(format!("two links join {one} and {other}"));
        }
    }
    Ok(())
}

/// Returns both names in a fixed order.
fn pair<'a>(one: &'a str, other: &'a str) -> (&'a str, &'a str) {
    let (mut first, mut second) = (one, other);
    if first > second {
        mem::swap(&mut first, &mut second);
    }
    (first, second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(nodes: &[&str], links: &[(&str, &str, LinkParameters)]) -> String {
        match Mesh::open(LinkKind::Loopback, nodes, links) {
            Err(LinkError::Mesh(what)) => what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn graphs_that_cannot_be_are_refused() {
        let plain = LinkParameters::default;
        assert!(refused(&["a", ""], &[]).contains("needs a name"));
        assert!(refused(&["a", "b", "a"], &[]).contains("two nodes are named a"));
        assert!(refused(&["a"], &[("a", "a", plain())]).contains("with itself"));
        assert!(refused(&["a"], &[("a", "c", plain())]).contains("c, which is not a node"));
        let twice = [("a", "b", plain()), ("b", "a", plain())];
        assert!(refused(&["a", "b"], &twice).contains("two links join b and a"));
        let impossible = LinkParameters { loss: 2.0, ..plain() };
        let opened = Mesh::open(LinkKind::Loopback, &["a", "b"], &[("a", "b", impossible)]);
        assert!(matches!(opened, Err(LinkError::Parameters(_))));
    }

    #[test]
    fn an_unknown_node_or_link_of_a_mesh_is_named() {
        let links = [("b", "a", LinkParameters::default())];
        let mesh = Mesh::open(LinkKind::Loopback, &["a", "b", "c"], &links).unwrap();
        let words = |error: LinkError| error.to_string();
        assert_eq!(words(mesh.node("d").unwrap_err()), "no node is named d; the nodes are a, b, c");
        assert_eq!(words(mesh.link("c", "a").unwrap_err()), "no link joins c and a");
        assert!(words(mesh.link("a", "d").unwrap_err()).contains("no node is named d"));
        assert!(words(mesh.address("d", "a").unwrap_err()).contains("no node is named d"));
        assert!(mesh.spawn_thread("d", || ()).unwrap_err().to_string().contains("named d"));
        assert_eq!(mesh.end("a", "b").unwrap(), End::Server);
        assert_eq!(mesh.end("b", "a").unwrap(), End::Client);
    }
}
