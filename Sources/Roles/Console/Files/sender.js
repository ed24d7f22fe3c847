// Who runs an operation: the administrator, a client without a token, or a user with claims.

import {field, h, select} from "./dom.js";

/** Reads the claims; an error names what is wrong with them. */
function claimsOf(text) {
  if (text.trim() === "") return {};
  let claims;
  try { claims = JSON.parse(text); } catch { throw new Error("The claims are no JSON."); }
  if (claims === null || typeof claims !== "object" || Array.isArray(claims)) {
    throw new Error("The claims must be a JSON object.");
  }
  return claims;
}

/** Controls for the sender. `impersonate` and `query` throw an error for claims that cannot be read. */
export function senderForm() {
  const kind = select([["admin", "Administrator (no @auth)"], ["user", "User"], ["out", "Signed out"]], {name: "as"});
  const uid = h("input", {name: "uid", placeholder: "user id", autocomplete: "off", disabled: true});
  const claims = h("input", {name: "claims", placeholder: '{"role": "staff"}', autocomplete: "off",
    spellcheck: "false", disabled: true});
  kind.addEventListener("change", () => {
    uid.disabled = claims.disabled = kind.value !== "user";
    if (!uid.disabled) uid.focus();
  });
  const user = () => ({...claimsOf(claims.value), sub: uid.value.trim()});
  return {
    element: h("div", {class: "filters"}, field("Run as", kind), field("User id", uid),
      field("Claims of the token", claims)),
    kind, uid, claims,
    impersonate: () => kind.value === "admin" ? undefined
      : kind.value === "out" ? {unauthenticated: true} : {authClaims: user()},
    query() {
      if (kind.value === "admin") return {};
      if (kind.value === "out") return {as: "signed-out"};
      claimsOf(claims.value);
      return {uid: uid.value.trim(), claims: claims.value.trim()};
    },
  };
}
