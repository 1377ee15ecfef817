//! A product's own admin paths.

use std::fmt;
use std::sync::Arc;

/// Paths in addition to metrics and health: GET (and HEAD) to read, POST for actions. A `{}` in a path stands for one
/// segment, which is passed to the handler. Clones share the same routes.
///
/// Handlers run on the task that serves the connection, and must not block: they only start what takes long. A POST has
/// no body, and one from a web page (`Origin`) is refused: a browser on the machine must not do what its operator
/// didn't ask for.
///
/// ```
/// use tessera_proxy::admin::{Answer, Routes};
///
/// let routes = Routes::new()
///     .get("/peers/{}", |name| match name {
///         "a.example" => Answer::json("{\"name\":\"a.example\"}"),
///         _ => Answer::not_found("there is no such peer"),
///     })
///     .post("/peers/{}/drain", |name| Answer::accepted(format!("{name} is drained")));
/// # let _ = routes;
/// ```
#[derive(Clone, Default)]
pub struct Routes(Vec<Route>);

#[derive(Clone)]
struct Route {
    is_post: bool,
    path: &'static str,
    handler: Arc<Handler>,
}

type Handler = dyn Fn(&str) -> Answer + Send + Sync;

/// A handler's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub(super) status: &'static str,
    pub(super) kind: &'static str,
    pub(super) body: String,
}

impl Answer {
    /// Answers 200 with JSON.
    #[must_use]
    pub fn json(body: impl Into<String>) -> Self {
        Self { status: "200 OK", kind: "application/json", body: body.into() }
    }

    /// Answers 202 with a line of text: the action has begun.
    #[must_use]
    pub fn accepted(line: impl fmt::Display) -> Self {
        Self::line("202 Accepted", line)
    }

    /// Answers 404 with a line of text: there is nothing of this name.
    #[must_use]
    pub fn not_found(line: impl fmt::Display) -> Self {
        Self::line("404 Not Found", line)
    }

    /// Answers 409 with a line of text: the current state doesn't allow it.
    #[must_use]
    pub fn conflict(line: impl fmt::Display) -> Self {
        Self::line("409 Conflict", line)
    }

    pub(super) fn line(status: &'static str, line: impl fmt::Display) -> Self {
        Self { status, kind: TEXT, body: format!("{line}\n") }
    }
}

const TEXT: &str = "text/plain; charset=utf-8";

/// The result of looking up a path.
pub(super) enum RouteMatch {
    Answer(Answer),
    /// The path exists for the other method.
    OtherMethod,
    Nothing,
}

impl Routes {
    /// Creates it without routes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a path for GET. Without a `{}` the handler gets an empty text.
    #[must_use]
    pub fn get(
        self,
        path: &'static str,
        handler: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        self.with(false, path, handler)
    }

    /// Adds an action for POST.
    #[must_use]
    pub fn post(
        self,
        path: &'static str,
        handler: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        self.with(true, path, handler)
    }

    fn with(
        mut self,
        is_post: bool,
        path: &'static str,
        handler: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        self.0.push(Route { is_post, path, handler: Arc::new(handler) });
        self
    }

    pub(super) fn find(&self, is_post: bool, path: &str) -> RouteMatch {
        let mut found = RouteMatch::Nothing;
        for route in &self.0 {
            let Some(segment) = segment(route.path, path) else { continue };
            if route.is_post == is_post {
                return RouteMatch::Answer((route.handler)(segment));
            }
            found = RouteMatch::OtherMethod;
        }
        found
    }

    /// Returns the paths for GET.
    pub(super) fn paths(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().filter(|route| !route.is_post).map(|route| route.path)
    }
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|route| route.path)).finish()
    }
}

/// Returns the segment for the `{}` of a template; empty if it has none. None: the path doesn't match.
fn segment<'p>(template: &str, path: &'p str) -> Option<&'p str> {
    let Some((before, after)) = template.split_once("{}") else {
        return (template == path).then_some("");
    };
    let segment = path.strip_prefix(before)?.strip_suffix(after)?;
    (!segment.is_empty() && !segment.contains('/')).then_some(segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_one_and_not_empty() {
        assert_eq!(segment("/peers", "/peers"), Some(""));
        assert_eq!(segment("/peers/{}", "/peers/a.b"), Some("a.b"));
        assert_eq!(segment("/peers/{}/drain", "/peers/a/drain"), Some("a"));
        for path in ["/peers/", "/peers", "/peers/a/b", "/peers//drain", "/peer/a"] {
            assert_eq!(segment("/peers/{}", path), None, "{path}");
        }
        assert_eq!(segment("/peers/{}/drain", "/peers/drain"), None);
    }

    #[test]
    fn a_path_has_its_methods() {
        let routes = Routes::new()
            .get("/peers/{}", |name| Answer::json(name))
            .post("/peers/{}/drain", |name| Answer::accepted(name));
        assert!(
            matches!(routes.find(false, "/peers/a"), RouteMatch::Answer(it) if it == Answer::json("a"))
        );
        assert!(
            matches!(routes.find(true, "/peers/a/drain"), RouteMatch::Answer(it) if it.body == "a\n")
        );
        assert!(matches!(routes.find(true, "/peers/a"), RouteMatch::OtherMethod));
        assert!(matches!(routes.find(false, "/peers/a/drain"), RouteMatch::OtherMethod));
        assert!(matches!(routes.find(false, "/nothing"), RouteMatch::Nothing));
    }
}
