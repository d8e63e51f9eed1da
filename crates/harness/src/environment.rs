//! Which variables of the user's environment an agent gets.
//!
//! Two kinds, by name: *base* variables are remembered with the session so that a woken run finds
//! the same tools; *credentials* are kept in memory only. Everything else stays out.

/// Variables every harness may have. A trailing `*` stands for any rest of the name.
const COMMON: [&str; 54] = [
    "ALL_PROXY",
    "ANDROID_HOME",
    "CARGO_HOME",
    "COLORTERM",
    "CONDA_PREFIX",
    "CREEL_NO_HOST",
    "CREEL_RUNTIME_DIR",
    "CURL_CA_BUNDLE",
    "EDITOR",
    "GIT_SSL_CAINFO",
    "GOPATH",
    "GOROOT",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LOGNAME",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "NODE_PATH",
    "NO_COLOR",
    "NO_PROXY",
    "NPM_CONFIG_PREFIX",
    "NVM_DIR",
    "PAGER",
    "PATH",
    "PNPM_HOME",
    "PYENV_ROOT",
    "PYTHONPATH",
    "REQUESTS_CA_BUNDLE",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    "XDG_*",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "npm_config_prefix",
];

/// Variables for one launch, sorted by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// What may be remembered with the session.
    pub base: Vec<(String, String)>,
    /// What is kept in memory only.
    pub credentials: Vec<(String, String)>,
}

/// The names one target admits.
#[derive(Clone, Debug)]
pub(crate) struct Admission<'a> {
    pub(crate) environment: &'a [String],
    pub(crate) credentials: &'a [String],
}

impl Admission<'_> {
    pub(crate) fn allow_list(&self) -> Vec<String> {
        let own = self.environment.iter().map(String::as_str);
        let mut names: Vec<_> = COMMON.into_iter().chain(own).map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Sorts a whole environment into what the target may have.
    ///
    /// A base variable that holds a password in a URL (a proxy's, say) counts as a credential.
    pub(crate) fn sort<I>(&self, variables: I) -> Environment
    where
        I: IntoIterator<Item = (String, String)>,
    {
        let mut sorted = Environment::default();
        for (name, value) in variables {
            if self.is_credential(&name) {
                sorted.credentials.push((name, value));
            } else if self.is_base(&name) {
                let kind =
                    if holds_password(&value) { &mut sorted.credentials } else { &mut sorted.base };
                kind.push((name, value));
            }
        }
        sorted.base.sort();
        sorted.credentials.sort();
        sorted
    }

    fn is_base(&self, name: &str) -> bool {
        COMMON.iter().any(|pattern| matches(pattern, name))
            || self.environment.iter().any(|pattern| matches(pattern, name))
    }

    fn is_credential(&self, name: &str) -> bool {
        self.credentials.iter().any(|pattern| matches(pattern, name))
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

/// True for `scheme://user:password@host…`.
fn holds_password(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], base: &[&str], credentials: &[&str]) {
        let environment = ["TOOL_*".to_owned()];
        let secret = ["TOOL_KEY".to_owned()];
        let admission = Admission { environment: &environment, credentials: &secret };
        let owned = variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        let sorted = admission.sort(owned);
        let names =
            |list: &[(String, String)]| list.iter().map(|(n, _)| n.clone()).collect::<Vec<_>>();
        assert_eq!(names(&sorted.base), base);
        assert_eq!(names(&sorted.credentials), credentials);
    }

    #[test]
    fn only_named_variables_pass_and_secrets_are_kept_apart() {
        check(
            &[("TOOL_KEY", "k"), ("TOOL_URL", "http://h"), ("LC_ALL", "C"), ("AWS_SECRET", "x")],
            &["LC_ALL", "TOOL_URL"],
            &["TOOL_KEY"],
        );
    }

    #[test]
    fn a_proxy_with_a_password_is_a_credential() {
        check(&[("HTTPS_PROXY", "http://me:pw@proxy:1")], &[], &["HTTPS_PROXY"]);
        check(&[("HTTPS_PROXY", "http://proxy:1/a@b:c")], &["HTTPS_PROXY"], &[]);
    }
}
