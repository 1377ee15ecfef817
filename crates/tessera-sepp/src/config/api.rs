//! Rules about requests, in the notation of operators.

use std::fmt;
use std::str::FromStr;

use http::Method;
use serde::Deserialize;

/// What a peer may request: `nudm-sdm`, `nudm-sdm: GET`, `nudm-sdm: GET, DELETE /nudm-sdm/v2/{supi}/*`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ApiRule {
    /// The service: the first segment of the path, without a prefix of the API root.
    pub service: String,
    /// The methods; empty allows all.
    pub methods: Vec<Method>,
    /// The path. Default: all of the service.
    pub path: Option<PathTemplate>,
}

/// A method and paths: `GET /nnrf-disc/*`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Operation {
    /// The method.
    pub method: Method,
    /// The paths.
    pub path: PathTemplate,
}

/// A pattern for paths: segments, of which `{name}` matches any one, and a last `*` any number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTemplate {
    segments: Vec<Segment>,
    is_open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    This(String),
    Any,
}

impl PathTemplate {
    /// Returns whether a path, without its query, matches.
    pub fn allows(&self, path: &str) -> bool {
        let Some(path) = path.strip_prefix('/') else { return false };
        let mut parts = path.split('/');
        for segment in &self.segments {
            let fits = match (segment, parts.next()) {
                (Segment::This(expected), Some(part)) => expected == part,
                (Segment::Any, Some(part)) => !part.is_empty(),
                (_, None) => false,
            };
            if !fits {
                return false;
            }
        }
        self.is_open || parts.next().is_none()
    }
}

impl FromStr for PathTemplate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a path: write \"/nudm-sdm/v2/{{supi}}/am-data\", or end it with `/*`"
            )
        };
        let inner = text.strip_prefix('/').filter(|inner| !inner.is_empty()).ok_or_else(wrong)?;
        let closed = inner.strip_suffix('*').map(|open| open.strip_suffix('/').unwrap_or(open));
        let is_open = closed.is_some();
        let segment = |part: &str| {
            let is_name = part.starts_with('{') && part.ends_with('}') && part.len() > 2;
            let is_plain = !part.is_empty() && !part.contains(['{', '}', '*', '?', '#', ' ']);
            match (is_name, is_plain) {
                (true, _) => Ok(Segment::Any),
                (false, true) => Ok(Segment::This(part.to_owned())),
                (false, false) => Err(wrong()),
            }
        };
        let parts = closed.unwrap_or(inner);
        let segments = match parts {
            "" => Vec::new(),
            parts => parts.split('/').map(segment).collect::<Result<_, _>>()?,
        };
        // `/nnrf-d*` would match part of a segment.
        if is_open && inner != "*" && !inner.ends_with("/*") {
            return Err(wrong());
        }
        Ok(Self { segments, is_open })
    }
}

impl fmt::Display for PathTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.segments {
            match segment {
                Segment::This(text) => write!(f, "/{text}")?,
                Segment::Any => f.write_str("/{}")?,
            }
        }
        f.write_str(if self.is_open { "/*" } else { "" })
    }
}

impl ApiRule {
    /// The methods of 3GPP's APIs (TS 29.501 §4.6.1), which its servers answer.
    pub const METHODS: [Method; 7] = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
    ];

    /// Returns whether it allows this request; the path is without its query and without a prefix of the API root.
    pub fn allows(&self, method: &Method, path: &str) -> bool {
        let behind = path.strip_prefix('/').and_then(|path| path.strip_prefix(&*self.service));
        behind.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            && (self.methods.is_empty() || self.methods.contains(method))
            && self.path.as_ref().is_none_or(|template| template.allows(path))
    }
}

impl FromStr for ApiRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (service, rest) = match text.split_once(':') {
            Some((service, rest)) => (service.trim(), rest.trim()),
            None => (text.trim(), ""),
        };
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if service.is_empty() || !service.bytes().all(is_letter) {
            return Err(format!("`{text}`: {API_FORMS}"));
        }
        let (methods, path) = match rest.find('/') {
            Some(start) => rest.split_at(start),
            None => (rest, ""),
        };
        let methods = methods.split([',', ' ']).filter(|name| !name.is_empty());
        let methods = methods.map(method).collect::<Result<_, _>>()?;
        let path = match path.trim() {
            "" => None,
            path => Some(path.parse()?),
        };
        if let Some(Segment::This(first)) =
            path.as_ref().and_then(|path: &PathTemplate| path.segments.first())
            && first != service
        {
            return Err(format!(
                "`{text}`: the path is not of {service}: begin it with /{service}/"
            ));
        }
        Ok(Self { service: service.to_owned(), methods, path })
    }
}

const API_FORMS: &str = "write a service, and optionally methods and a path: \"nudm-sdm\", \"nudm-sdm: GET\", \
                         \"nudm-sdm: GET /nudm-sdm/v2/{supi}/am-data\"";

/// Parses a method in upper case.
pub(super) fn method(name: &str) -> Result<Method, String> {
    ApiRule::METHODS.into_iter().find(|method| method.as_str() == name).ok_or_else(|| {
        format!("`{name}` is not a method: write GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")
    })
}

impl Operation {
    /// Returns whether it matches this request; the path is without its query.
    pub fn allows(&self, method: &Method, path: &str) -> bool {
        self.method == *method && self.path.allows(path)
    }
}

impl FromStr for Operation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = text.trim().split_once(' ').ok_or_else(|| {
            format!("`{text}`: write a method and a path, such as \"GET /nnrf-disc/*\"")
        })?;
        Ok(Self { method: method(name)?, path: path.trim().parse()? })
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

impl TryFrom<String> for Operation {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl TryFrom<String> for ApiRule {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_names_service_methods_and_path() {
        let rule = |text: &str| text.parse::<ApiRule>().unwrap();
        let sdm = "/nudm-sdm/v2/imsi-1/am-data";
        assert!(rule("nudm-sdm").allows(&Method::POST, sdm));
        assert!(!rule("nudm-sd").allows(&Method::GET, sdm));
        assert!(!rule("nudm-sdm: GET").allows(&Method::POST, sdm));
        assert!(rule("nudm-sdm: GET, PUT").allows(&Method::PUT, sdm));
        let one = rule("nudm-sdm: GET /nudm-sdm/v2/{supi}/am-data");
        assert!(one.allows(&Method::GET, sdm));
        for other in ["/nudm-sdm/v2//am-data", "/nudm-sdm/v2/1/am-data/x", "/nudm-sdm/v2/1", ""] {
            assert!(!one.allows(&Method::GET, other), "{other}");
        }
        for text in
            ["", ": GET", "nudm-sdm: get", "nudm sdm", "nudm-sdm: GET /a*", "a: GET /?x", "a: /b/c"]
        {
            text.parse::<ApiRule>().unwrap_err();
        }
    }

    #[test]
    fn an_operation_ends_where_its_path_ends_unless_it_is_open() {
        let open: Operation = "GET /nnrf-disc/*".parse().unwrap();
        assert!(open.allows(&Method::GET, "/nnrf-disc/v1/nf-instances"));
        assert!(!open.allows(&Method::POST, "/nnrf-disc/v1/nf-instances"));
        assert!(!open.allows(&Method::GET, "/nnrf-discovery"));
        assert_eq!(open.to_string(), "GET /nnrf-disc/*");
        for text in ["GET", "GET nnrf-disc", "GET /", "FETCH /a"] {
            text.parse::<Operation>().unwrap_err();
        }
    }
}
