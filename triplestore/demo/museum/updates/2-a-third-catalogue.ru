# The National Gallery in London describes Vermeer too, with the same authority number.
PREFIX v: <http://example.org/museum/vocabulary#>
PREFIX london: <http://example.org/museum/national-gallery/>

INSERT DATA {
  london:vermeer v:name "Johannes Vermeer" ; v:authorityNumber "P-1632" .
  london:NG1383 v:title "A Young Woman standing at a Virginal" ; v:paintedBy london:vermeer .
}
