/* SPDX-License-Identifier: MIT */
/* stream.cc - streams, locales, exceptions, regular expressions, threads: most of libstdc++ */
#include <iostream>
#include <sstream>
#include <locale>
#include <iomanip>
#include <map>
#include <vector>
#include <string>
#include <algorithm>
#include <stdexcept>
#include <regex>
#include <thread>
#include <mutex>
#include <fstream>
static void work(){ std::map<std::string,int> m; std::ostringstream o; std::locale::global(std::locale::classic());
 for(int i=0;i<2000;i++){ std::string k="k"+std::to_string(i%37); m[k]+=i; o<<std::setw(8)<<std::setprecision(5)<<i/7.0<<' '<<std::hex<<i<<std::dec<<'\n'; }
 for(auto&p:m) std::cout<<p.first<<'='<<p.second<<' '; std::cout<<o.str().size()<<std::endl;
 int caught=0; for(int i=0;i<200;i++) try{ if(i%2) throw std::runtime_error("x"+std::to_string(i)); std::vector<int> v(3); v.at(5+i); } catch(const std::out_of_range&){caught++;} catch(const std::exception&e){caught+=(int)std::string(e.what()).size();}
 std::cout<<caught<<'\n'; std::istringstream in("1 2.5 three 0x1f"); int a; double b; std::string c; in>>a>>b>>c; std::cout<<a<<b<<c<<'\n';
 std::regex re("([a-z]+)([0-9]+)"); std::smatch s; std::string t="abc123"; std::cout<<std::regex_match(t,s,re)<<s[1]<<s[2]<<'\n';
 std::mutex mu; long sum=0; std::vector<std::thread> th; for(int i=0;i<4;i++) th.emplace_back([&,i]{ for(int j=0;j<500;j++){ std::lock_guard<std::mutex> g(mu); sum+=i*j; } }); for(auto&x:th)x.join(); std::cout<<sum<<'\n';
 try{ std::locale l("no_SUCH"); } catch(const std::runtime_error&){ std::cout<<"no locale\n"; } std::wcout<<L"wide "<<3.5<<std::endl; std::sort(t.rbegin(),t.rend()); std::cout<<t<<std::put_time(std::gmtime(new time_t(86400)),"%F %T")<<'\n'; }
int main(int argc, char **){ if(argc<2) work(); /* or a line of input is a round, each with a line in ./marks */
 else for(std::string line; std::getline(std::cin,line); std::ofstream("marks",std::ios::app)<<'\n') work(); }
