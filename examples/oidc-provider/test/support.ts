/** A browser of the host's own development pages: keeps cookies, submits each form, stops where the OP leaves. */
export async function logIn(url: URL): Promise<URL> {
  const cookies = new Map<string, string>();
  const send = async (to: URL, form?: URLSearchParams): Promise<Response> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(to, {
      redirect: "manual",
      headers: { cookie, accept: "text/html" },
      ...(form && { method: "POST", body: form }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    return response;
  };

  let at = url;
  let response = await send(at);
  for (let steps = 0; steps < 20; steps += 1) {
    const location = response.headers.get("location");
    if (location !== null) {
      at = new URL(location, at);
      if (at.origin !== url.origin) return at;
      response = await send(at);
    } else {
      const page = await response.text();
      const [, action = ""] = /<form[^>]* action="([^"]+)"/.exec(page) ?? [];
      const [, prompt = ""] = /name="prompt" value="([^"]+)"/.exec(page) ?? [];
      if (action === "") throw new Error(`the OP answered ${response.status}: ${page}`);
      at = new URL(action, at);
      response = await send(at, new URLSearchParams({ prompt, login: "jane", password: "any" }));
    }
  }
  throw new Error("the login did not end");
}
