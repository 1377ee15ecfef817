//! The head of a request.

use http::header::ACCEPT_ENCODING;
use http::uri::PathAndQuery;
use http::{Method, Uri, request};

use super::context::Service;
use super::fields::Text;
use super::judge::{Judge, Scope};
use super::{Refusal, Rule, headers, path, query};
use crate::config::ApiRule;

/// Judges the head of a request and returns its canonical path, with which the request line is rewritten.
pub(super) fn judge(judge: &mut Judge<'_>, parts: &mut request::Parts) -> Result<String, Refusal> {
    if !ApiRule::METHODS.contains(&parts.method) {
        return Err(Refusal::new(Rule::Api, "method", parts.method.as_str()));
    }
    judge.is_patch = parts.method == Method::PATCH;
    // Compressed bodies can't be inspected, so don't ask for them.
    parts.headers.remove(ACCEPT_ENCODING);
    headers::judge_request(judge, &mut parts.headers)?;
    let malformed = || Refusal::new(Rule::Malformed, "path", "");
    let path = path::canonical(parts.uri.path()).ok_or_else(malformed)?.into_owned();
    // The answer is judged by the service.
    if !judge.is_incoming && Service::all_in(&path).any(|service| service != judge.kind.service) {
        judge.against(Rule::Malformed, "path", "two services")?;
    }
    let scope = Scope { name: "path", side: None, text: Text::Plain, maps: 0 };
    judge.segments(scope, &path)?;
    let mut line =
        String::with_capacity(2 * parts.uri.path_and_query().map_or(0, |it| it.as_str().len()));
    path::write(&mut line, &path);
    if let Some(query) = parts.uri.query() {
        judge.rule = Rule::PlmnInQuery;
        judge.kind.is_query = true;
        let query = query::judge(judge, query)?;
        judge.kind.is_query = false;
        if !query.is_empty() {
            line.push('?');
            line.push_str(&query);
        }
    }
    if parts.uri.path_and_query().is_some_and(|now| now.as_str() == line) {
        return Ok(path);
    }
    let mut uri = std::mem::take(&mut parts.uri).into_parts();
    uri.path_and_query = Some(PathAndQuery::try_from(line).map_err(|_| malformed())?);
    parts.uri = Uri::from_parts(uri).map_err(|_| malformed())?;
    Ok(path)
}
